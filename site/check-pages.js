/**
 * Opens the pages of the built site in headless Chromium, at the width of a phone, and searches once.
 *
 * Invariant: it passes only if no page sends a request to another host, reports an error or is wider than the phone,
 * and if the search finds a guide and the API page of a name.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { serve } from 'vitepress';

const folder = join(import.meta.dirname, 'dist');
/** Generated pages are many and alike: one of each kind is enough. */
const isSample = (name) =>
  /^api\/(index|.*\/(index|Limiter|RunArguments|Scheduled|select|TimeoutError))\.html$/.test(
    name,
  ) || name === 'rust/pointsman/index.html';
const pages = readdirSync(folder, { recursive: true }).filter(
  (name) => name.endsWith('.html') && (!/^(api|rust)\//.test(name) || isSample(name)),
);

const programs = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
// Some shells look only for the first name of a `command -v`.
const search = `command -v ${programs.join(' || command -v ')} || true`;
const [executablePath] = execFileSync('sh', ['-c', search], { encoding: 'utf8' }).split('\n');
if (!executablePath) throw new Error('Chromium is needed: Debian has it as package chromium');

const { server } = await serve({ root: import.meta.dirname, port: 0 });
if (!server.listening) await once(server, 'listening');
const host = `http://localhost:${server.address().port}`;
const start = host + (process.env.BASE ?? '/');

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  const page = await browser.newPage({ viewport: { width: 390, height: 844 } });
  let name;
  const fail = (what) => {
    console.error(`${name}: ${what}`);
    process.exitCode = 1;
  };
  await page.route(
    ({ origin, protocol }) => protocol.startsWith('http') && origin !== host,
    (route) => {
      fail(`sends a request to another host: ${route.request().url()}`);
      return route.abort();
    },
  );
  page.on('pageerror', (error) => fail(String(error)));
  page.on('console', (message) => message.type() === 'error' && fail(message.text()));

  for (const [index, file] of pages.entries()) {
    name = file;
    await page.goto(start + file, { waitUntil: 'networkidle' });
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    if (width > 390 && !file.startsWith('rust/')) fail(`is ${width} pixels wide on a phone`);
    if (index % 10 === 9) console.log(`${index + 1} of ${pages.length} pages`);
  }

  name = 'the search';
  await page.goto(start, { waitUntil: 'networkidle' });
  await page.keyboard.press('Control+k');
  await page.locator('#localsearch-input').fill('semaphore');
  await page.locator('#localsearch-list a').first().waitFor();
  const links = await page.locator('#localsearch-list a').all();
  const found = await Promise.all(links.slice(0, 3).map((link) => link.getAttribute('href')));
  for (const part of ['/docs/sync/', '/api/pointsman/classes/Semaphore']) {
    if (!found.some((link) => link.includes(part))) fail(`finds ${found.join(', ')}; no ${part}`);
  }
} finally {
  await browser.close();
  server.close();
}
console.log(
  process.exitCode === 1
    ? 'Pages of the site have errors.'
    : `All ${pages.length} pages load without errors and fit a phone, and the search works.`,
);
