/**
 * Opens a page in headless Chromium, as a test of an example that is one: `node ../page.js <folder or URL> <text>`.
 * A folder is served first, as a plain server of files does.
 *
 * Invariant: it passes if, and only if, the element `#result` comes to show the text, and the page reports no error.
 */
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { chromium } from 'playwright-core';

const [place, expected] = process.argv.slice(2);
if (expected === undefined) throw new Error('Usage: node page.js <folder or URL> <text>');

const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };
const server = createServer(async (request, response) => {
  const path = normalize(new URL(request.url, 'http://localhost').pathname);
  const file = join(place, path.endsWith('/') ? `${path}index.html` : path);
  try {
    const body = await readFile(file);
    response.setHeader('content-type', types[extname(file)] ?? 'application/octet-stream');
    response.end(body);
  } catch {
    response.writeHead(404).end();
  }
});

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const found = execFileSync('sh', ['-c', `command -v ${names.join(' ')} || true`], {
  encoding: 'utf8',
});
const executablePath = found.split('\n')[0];
if (!executablePath) throw new Error('Chromium is needed: Debian has it as package chromium');

let url = place;
if (!/^https?:/.test(place)) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${server.address().port}/`;
}
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  const page = await browser.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  await page.goto(url);
  const result = page.locator('#result');
  const deadline = Date.now() + 30_000;
  let shown = '';
  while (shown !== expected && errors.length === 0 && Date.now() < deadline) {
    shown = (await result.textContent({ timeout: 30_000 }))?.trim() ?? '';
    await page.waitForTimeout(20);
  }
  if (shown !== expected || errors.length > 0) {
    console.log(`The page shows ${JSON.stringify(shown)}, not ${JSON.stringify(expected)}.`);
    for (const error of errors) console.log(error);
    process.exitCode = 1;
  }
} finally {
  await browser.close();
  server.close();
}
