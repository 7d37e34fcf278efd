/**
 * The demo of the bridge works as it is served: with every transport its worker moves the labels, and
 * goes on after the page was blocked.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { chromium as driver } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { chromium } from './runtimes/chromium.js';

const program = fileURLToPath(new URL('../../../docs/demo/bridge/serve.js', import.meta.url));
const { path: executablePath } = chromium.find() as { path?: string };

async function serve(): Promise<string> {
  const server = spawn(process.execPath, [program]);
  onTestFinished(() => void server.kill());
  const [address] = await once(server.stdout, 'data');
  return String(address).trim();
}

test('its server outlives requests that make no sense', async () => {
  const address = await serve();
  const status = async (path: string) => (await fetch(address + path)).status;
  expect(await status('%')).toBe(400);
  expect(await status('/')).toBe(404);
  expect(await status('nothing.js')).toBe(404);
  expect(await status('index.html')).toBe(200);
});

test.skipIf(executablePath === undefined)('the demo works', { timeout: 60_000 }, async () => {
  const address = await serve();
  const browser = await driver.launch({
    executablePath: executablePath as string,
    args: ['--no-sandbox'],
  });
  onTestFinished(() => browser.close());
  const page = await browser.newPage();
  const wrong: string[] = [];
  page.on('pageerror', (error) => wrong.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') wrong.push(message.text());
  });
  await page.goto(address);

  const firstPlace = () => page.locator('#stage span').first().getAttribute('style');
  for (const transport of ['shared/shared', 'port/shared', 'port/port', 'ring']) {
    await page.check(`[value="${transport}"]`);
    const before = await firstPlace();
    await expect.poll(firstPlace, { timeout: 10_000 }).not.toBe(before);
  }

  await page.click('#block');
  const told = () => page.textContent('#blocked');
  await expect.poll(told, { timeout: 10_000 }).toMatch(/waited \d{3,} ms .* the worker went on/);
  const after = await firstPlace();
  await expect.poll(firstPlace, { timeout: 10_000 }).not.toBe(after);
  expect(wrong).toEqual([]);
});
