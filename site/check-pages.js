/**
 * Opens the pages of the built site in headless Chromium, at the widths of a phone and of a laptop, and searches.
 *
 * Invariant: it passes only if no page sends a request to another host, reports an error or is wider than the phone, no
 * code of a guide scrolls sideways on the laptop, the search finds a guide and the API page of a name, and the page for
 * missing addresses opens the search and has no broken link.
 */
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { serve } from 'vitepress';
import { launchChromium } from './chromium.js';

const folder = join(import.meta.dirname, 'dist');
/** Generated pages are many and alike: one of each kind is enough. */
const isSample = (name) =>
  /^api\/(index|.*\/(index|Limiter|RunArguments|Scheduled|select|TimeoutError))\.html$/.test(
    name,
  ) || name === 'rust/pointsman/index.html';
const pages = readdirSync(folder, { recursive: true }).filter(
  (name) => name.endsWith('.html') && (!/^(api|rust)\//.test(name) || isSample(name)),
);

/** Returns the longest line of each code block that is wider than its space. */
const cutOff = () =>
  [...document.querySelectorAll('pre')]
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
    .map(({ textContent }) => textContent.split('\n').sort((a, b) => b.length - a.length)[0]);

const phone = { width: 390, height: 844 };
const laptop = { width: 1280, height: 800 };

const { server } = await serve({ root: import.meta.dirname, port: 0 });
if (!server.listening) await once(server, 'listening');
const host = `http://localhost:${server.address().port}`;
const start = host + (process.env.BASE ?? '/');

const browser = await launchChromium();
try {
  const page = await browser.newPage();
  // Other programs may keep the machine busy.
  page.setDefaultTimeout(120_000);
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
    await page.setViewportSize(phone);
    await page.goto(start + file, { waitUntil: 'networkidle' });
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    if (width > 390 && !file.startsWith('rust/')) fail(`is ${width} pixels wide on a phone`);
    if (!/^(api|rust)\//.test(file)) {
      await page.setViewportSize(laptop);
      for (const line of await page.evaluate(cutOff)) fail(`is too narrow for the code: ${line}`);
    }
    if (index % 10 === 9) console.log(`${index + 1} of ${pages.length} pages`);
  }

  name = '404.html';
  await page.goto(`${start}404.html`, { waitUntil: 'networkidle' });
  // The browser draws these links, so check-links.js does not see them.
  const guides = await page.locator('.not-found a').evaluateAll((links) => links.map(String));
  if (guides.length === 0) fail('has no links');
  for (const link of guides) {
    if (!(await page.request.get(link)).ok()) fail(`has a broken link: ${link}`);
  }

  name = 'the search';
  await page.getByRole('button', { name: 'Search the site' }).click();
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
    : `All ${pages.length} pages load without errors and fit a phone and a laptop, and the search works.`,
);
