/**
 * An installed Chromium, headless, on one subject's page.
 *
 * Invariant: the browser has ended when `close` has resolved, and it ends when this process ends for any reason: it is
 * driven through a pipe and exits when the pipe is closed.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Page } from 'playwright-core';
import type { Found, Order } from '../caller/order.js';
import { bundledPage } from './bundle.js';
import type { PageLab } from './page.js';
import { servePage } from './server.js';

const programs = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

export const noChromium = `not measured: none of ${programs.join(', ')} is installed`;

export function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders
    .flatMap((folder) => programs.map((program) => join(folder, program)))
    .find(existsSync);
}

/** From the program itself, which takes a moment. */
export function chromiumVersion(): string | undefined {
  const program = findChromium();
  if (program === undefined) return undefined;
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return /\d+(\.\d+)+/.exec(stdout ?? '')?.[0];
}

export interface BrowserPage {
  /** Opens a session. */
  open(): Promise<{ run(order: Order): Promise<Found> }>;
  close(): Promise<void>;
}

declare const lab: PageLab;

export async function openBrowser(executablePath: string, subject: string): Promise<BrowserPage> {
  // Imported here, because the cells in Node do not need it.
  const { chromium } = await import('playwright-core');
  const server = await servePage(bundledPage(subject));
  // A container has no user namespaces for Chromium's sandbox, and the page is trusted. Without a zygote the browser
  // starts its own processes, so their processor time counts as the lab's.
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--no-zygote'],
  });
  const close = async () => {
    await browser.close();
    server.stop();
  };
  try {
    const page = await browser.newPage();
    const brokenDown = breakdown(page);
    const orBreakdown = <Value>(work: Promise<Value>) =>
      Promise.race([work, brokenDown]).catch((error) => {
        throw new Error(wordsOf(error));
      });
    await page.goto(server.url);
    await orBreakdown(page.addScriptTag({ type: 'module', url: '/page.js' }));
    return {
      async open() {
        const session = await orBreakdown(page.evaluate(() => lab.open()));
        return {
          run: (order) =>
            orBreakdown(page.evaluate((given) => lab.run(...given), [session, order] as const)),
        };
      },
      close: async () => {
        await page.close();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The message without the driver's additions. */
function wordsOf(error: Error): string {
  const [first = ''] = error.message.split('\n');
  return first.replace(/^page\.\w+: (\w*Error: )?/, '');
}

function breakdown(page: Page): Promise<never> {
  const broken = new Promise<never>((_, reject) => {
    page.on('pageerror', (error) => reject(new Error(error.message)));
    page.on('crash', () => reject(new Error('the page crashed')));
  });
  // The page may fail while nothing waits for it.
  broken.catch(() => {});
  return broken;
}
