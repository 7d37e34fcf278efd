/** A Chromium that is installed on the machine, without a window. */
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { chromium as driver } from 'playwright-core';
import { bundleThread } from './bundle.js';
import { outcomeMark } from './outcome.js';
import { type Runtime, timeLimit } from './runtime.js';

/** Without these headers a page has no memory to share with its threads. */
const isolated = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

const origin = 'http://localhost/';
const programs = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

export const chromium: Runtime = {
  name: 'chromium',
  entry: 'page',
  find() {
    const folders = (process.env.PATH ?? '').split(delimiter);
    const paths = folders.flatMap((folder) => programs.map((program) => join(folder, program)));
    const path = paths.find(existsSync);
    return path ? { path } : { missing: `none of ${programs.join(', ')} is installed` };
  },
  async run(executablePath, bundle, onLine) {
    const thread = join(dirname(bundle), 'thread.mjs');
    const poolThread = join(dirname(bundle), 'pool.mjs');
    await bundleThread('web', thread);
    await bundleThread('web', poolThread, 'pool');
    // A container has no user namespaces for Chromium's sandbox; the page is our own.
    const browser = await driver.launch({ executablePath, args: ['--no-sandbox'] });
    try {
      const page = await browser.newPage();
      const ended = new Promise<void>((resolve, reject) => {
        page.on('pageerror', reject);
        page.on('crash', () => reject(new Error('the page crashed')));
        page.on('close', () => reject(new Error('the page closed')));
        page.on('console', (message) => {
          onLine(message.text());
          if (message.text().startsWith(outcomeMark)) resolve();
        });
      });
      const timer = setTimeout(() => page.close(), timeLimit);
      // An origin of its own, as real pages have one; the driver answers, so nothing is served.
      await page.route(origin, (route) =>
        route.fulfill({ contentType: 'text/html', body: '', headers: isolated }),
      );
      for (const [name, path] of [
        ['tests.mjs', bundle],
        ['thread.mjs', thread],
        ['pool.mjs', poolThread],
      ] as const) {
        const contentType = 'text/javascript';
        await page.route(`${origin}${name}`, (route) =>
          route.fulfill({ path, contentType, headers: isolated }),
        );
      }
      await page.goto(origin);
      await page.addScriptTag({ type: 'module', url: `${origin}tests.mjs` });
      await ended.finally(() => clearTimeout(timer));
      return browser.version();
    } finally {
      await browser.close();
    }
  },
};
