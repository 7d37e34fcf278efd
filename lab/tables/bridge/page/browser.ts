/**
 * A Chromium that is installed on the machine, without a window, on one subject's page.
 *
 * Invariant: it is gone when `close` has resolved, and when this process has ended by whatever end: it
 * is driven through a pipe, and ends when nobody holds the other side.
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

/** As the program says it, which takes it a moment. */
export function chromiumVersion(): string | undefined {
  const program = findChromium();
  if (program === undefined) return undefined;
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return /\d+(\.\d+)+/.exec(stdout ?? '')?.[0];
}

export interface BrowserPage {
  open(): Promise<void>;
  run(order: Order): Promise<Found>;
  closeSession(): Promise<void>;
  close(): Promise<void>;
}

declare const lab: PageLab;

export async function openBrowser(executablePath: string, subject: string): Promise<BrowserPage> {
  // Loaded here, as the cells in Node have no use for it.
  const { chromium } = await import('playwright-core');
  const server = await servePage(bundledPage(subject));
  // A container has no user namespaces for Chromium's sandbox; the page is our own. Without a zygote
  // the browser waits for its own processes, so that their processor time is seen to be the lab's.
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
      open: () => orBreakdown(page.evaluate(() => lab.open())),
      run: (order) => orBreakdown(page.evaluate((given) => lab.run(given), order)),
      closeSession: () => orBreakdown(page.evaluate(() => lab.close())),
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

/** Without what the driver puts before and after it. */
function wordsOf(error: Error): string {
  const [first = ''] = error.message.split('\n');
  return first.replace(/^page\.\w+: (\w*Error: )?/, '');
}

function breakdown(page: Page): Promise<never> {
  const broken = new Promise<never>((_, reject) => {
    page.on('pageerror', (error) => reject(new Error(error.message)));
    page.on('crash', () => reject(new Error('the page crashed')));
  });
  // It may break down while nobody waits for it.
  broken.catch(() => {});
  return broken;
}
