/**
 * An installed Chromium, headless, with a page for each subject.
 *
 * A browser takes a second of a core to start, a page a tenth, so the cells share the browser that the lab has started.
 * Each page has a context of its own, hence its own process.
 *
 * Invariant: a browser ends when the process that started it ends for any reason: it is driven through a pipe and exits
 * when the pipe is closed. A page ends when the process that opened it ends.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { Socket } from 'node:net';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Browser, LaunchOptions, Page } from 'playwright-core';
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

/** A started browser. */
interface Started {
  readonly process: number;
  readonly address: string;
}

/** Holds the shared browser, in JSON, for the cells. */
const variable = 'LAB_BROWSER';
const program = fileURLToPath(new URL('./shared-browser.js', import.meta.url));

// A container has no user namespaces for Chromium's sandbox, and the pages are trusted. Without a zygote the browser
// starts its own processes, so their processor time counts as the lab's.
export const launchOptions = (executablePath: string): LaunchOptions => ({
  executablePath,
  args: ['--no-sandbox', '--no-zygote'],
});

/** Starts the browser that the cells share, until this process ends. Returns its process id. */
export async function shareBrowser(executablePath: string): Promise<number> {
  const child = spawn(process.execPath, [program, executablePath], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const { value: line } = await createInterface({ input: child.stdout })
    [Symbol.asyncIterator]()
    .next();
  if (line === undefined) throw new Error(`${executablePath}: the browser did not start`);
  // This process must not wait for the browser, which ends with it.
  child.unref();
  for (const stream of [child.stdin, child.stdout]) if (stream instanceof Socket) stream.unref();
  process.env[variable] = line;
  return (JSON.parse(line) as Started).process;
}

export interface BrowserPage {
  /** The process id of the browser. */
  readonly process: number;
  /** Opens a session. */
  open(): Promise<{ run(order: Order): Promise<Found> }>;
  close(): Promise<void>;
}

declare const lab: PageLab;

/** Opens the subject's page in the shared browser, or in a browser of its own. */
export async function openPage(
  executablePath: string,
  subject: string,
  isAlone: boolean,
): Promise<BrowserPage> {
  const server = await servePage(bundledPage(subject));
  const opened = isAlone ? await launch(executablePath) : await connect();
  const { browser } = opened;
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
      process: opened.process,
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

interface Opened {
  readonly browser: Browser;
  readonly process: number;
}

async function launch(executablePath: string): Promise<Opened> {
  const { chromium } = await import('playwright-core');
  const server = await chromium.launchServer(launchOptions(executablePath));
  const browser = await chromium.connect(server.wsEndpoint());
  browser.once('disconnected', () => server.close());
  return { browser, process: server.process().pid ?? 0 };
}

async function connect(): Promise<Opened> {
  const { chromium } = await import('playwright-core');
  const { address, process: id } = JSON.parse(process.env[variable] ?? '{}') as Started;
  return { browser: await chromium.connect(address), process: id };
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
