/**
 * The demos work as started. Bridge: every way to call moves the labels, also after the page was blocked. Pool: all
 * routes answer, and the server ends on request although clients keep their connections.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { chromium as driver } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { browsers } from './runtimes/browsers.js';

const demo = (path: string) =>
  fileURLToPath(new URL(`../../../docs/demo/${path}`, import.meta.url));
const { path: executablePath } = browsers.chromium.find() as { path?: string };

function start(path: string, ...options: string[]): ChildProcessWithoutNullStreams {
  const program = spawn(process.execPath, [demo(path), ...options]);
  onTestFinished(() => void program.kill('SIGKILL'));
  return program;
}

async function serve(): Promise<string> {
  const [address] = await once(start('bridge/serve.js').stdout, 'data');
  return String(address).trim();
}

test('the server of the bridge survives invalid requests', async () => {
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
  for (const way of ['awaited', 'blocking']) {
    await page.check(`[value="${way}"]`);
    const before = await firstPlace();
    await expect.poll(firstPlace, { timeout: 10_000 }).not.toBe(before);
  }

  await page.click('#block');
  const blocked = () => page.textContent('#blocked');
  await expect
    .poll(blocked, { timeout: 10_000 })
    .toMatch(/waited \d{3,} ms .* the worker continued/);
  const after = await firstPlace();
  await expect.poll(firstPlace, { timeout: 10_000 }).not.toBe(after);
  expect(wrong).toEqual([]);
});

test('the server of the pool answers on all routes, and closes', { timeout: 60_000 }, async () => {
  const server = start('offload/server.js', '0');
  const [said] = await once(server.stdout, 'data');
  const address = /http:\/\/localhost:\d+/.exec(String(said))?.[0] ?? '';
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const ask = async (route: string) => {
    const [response] = await once(get(`${address}/${route}`, { agent }), 'response');
    return text(response);
  };
  expect(await ask('ping')).toBe('pong');
  for (const route of ['sync', 'async', 'pool']) {
    expect(await ask(route)).toMatch(/^\$2b\$10\$[./A-Za-z0-9]{53}$/);
  }

  const second = start('offload/server.js', new URL(address).port);
  const [complaint, [code]] = await Promise.all([text(second.stderr), once(second, 'exit')]);
  expect(complaint).toMatch(/^Port \d+ is taken/);
  expect(code).toBe(1);

  // Requests over connections that clients keep do not keep the server running.
  const asking = Array.from({ length: 8 }, async () => {
    for (;;) await ask('pool');
  });
  const refused = Promise.allSettled(asking);
  await ask('ping');
  const exited = once(server, 'exit');
  server.kill('SIGINT');
  expect(await exited).toEqual([0, null]);
  await refused;
});
