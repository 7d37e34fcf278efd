/** The program of the guide to crawlers, as a process that crawls a server and gets SIGTERM. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { compileInto, type Example, examplesOf, root } from './guides.js';

const [program] = examplesOf(join(root, 'docs/how-to/crawler.md'), 'ts crawler');
const here = fileURLToPath(new URL('.', import.meta.url));

const linksTo = (...links: string[]) => links.map((link) => `<a href="${link}">x</a>`).join('\n');

/** Serves pages and records the paths that are requested. A page that is a function answers itself. */
async function serve(pages: Record<string, string | ((response: ServerResponse) => void)>) {
  const requested: string[] = [];
  const server = createServer(({ url = '' }: IncomingMessage, response) => {
    requested.push(url);
    const page = pages[url];
    if (typeof page === 'function') page(response);
    else response.end(page);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, requested };
}

interface Running {
  readonly process: ChildProcess;
  readonly output: Promise<string>;
  readonly errors: Promise<string>;
  readonly exitCode: Promise<number | null>;
}

async function start(url: string, env: Record<string, string> = {}): Promise<Running> {
  const folder = mkdtempSync(join(here, '.example-'));
  const script = await compileInto(folder, program as Example);
  const crawler = spawn(process.execPath, [script, url], { env: { NO_COLOR: '1', ...env } });
  onTestFinished(() => {
    crawler.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  });
  const exitCode = once(crawler, 'exit').then(([code]) => code as number | null);
  return {
    process: crawler,
    output: text(crawler.stdout),
    errors: text(crawler.stderr),
    exitCode,
  };
}

/** Sends SIGTERM and resolves when the program has closed its limiter. */
async function terminate({ process }: Running): Promise<void> {
  const closed = once(process.stderr as NodeJS.ReadableStream, 'data');
  process.kill('SIGTERM');
  await closed;
}

test('each page is fetched once, and the page that was refused is retried', async () => {
  let refusals = 0;
  const { url, requested } = await serve({
    '/': linksTo('/a', 'b', '/a#top', 'http://other.example/', 'mailto:office@other.example'),
    '/a': linksTo('/', '/moved'),
    '/b': (response) => {
      if (refusals++ === 0) response.writeHead(429, { 'retry-after': '0' }).end();
      else response.end(linksTo('/a'));
    },
    '/moved': (response) => response.writeHead(301, { location: '/c' }).end(),
    '/c': 'the end',
  });
  const crawler = await start(url);
  expect(await crawler.exitCode).toBe(0);
  expect(await crawler.errors).toBe('');
  expect([...requested].sort()).toEqual(['/', '/a', '/b', '/b', '/c', '/moved']);
  expect((await crawler.output).split('\n').slice(0, -1).sort()).toEqual(
    [
      `200 ${url}`,
      `200 ${url}a`,
      `200 ${url}b`,
      `200 ${url}c`,
      `301 ${url}moved`,
      `429 ${url}b`,
    ].sort(),
  );
});

test('SIGTERM lets running requests finish and starts no more', async () => {
  const held: ServerResponse[] = [];
  const hold = (response: ServerResponse) => {
    held.push(response.writeHead(200));
    response.flushHeaders();
  };
  const { url, requested } = await serve({
    '/': linksTo('/a', '/b', '/c'),
    '/a': hold,
    '/b': hold,
  });
  const crawler = await start(url);
  await vi.waitFor(() => expect(held.length).toBe(2), 10_000);
  await terminate(crawler);
  for (const response of held) response.end(linksTo('/d'));
  expect(await crawler.exitCode).toBe(0);
  expect(await crawler.errors).toBe('stopping\n');
  expect([...requested].sort()).toEqual(['/', '/a', '/b']);
});

test('SIGTERM does not wait for a penalty', async () => {
  const { url, requested } = await serve({
    '/': (response) => response.writeHead(429, { 'retry-after': '3600' }).end(),
  });
  const crawler = await start(url);
  await once(crawler.process.stdout as NodeJS.ReadableStream, 'data');
  await terminate(crawler);
  expect(await crawler.exitCode).toBe(0);
  expect(await crawler.errors).toBe('stopping\n');
  expect(requested).toEqual(['/']);
});

test('a request that does not end is aborted at the limit, and the exit code is 1', async () => {
  const { url, requested } = await serve({ '/': () => {} });
  const crawler = await start(url, { LIMIT: '50' });
  await vi.waitFor(() => expect(requested).toEqual(['/']), 10_000);
  await terminate(crawler);
  expect(await crawler.exitCode).toBe(1);
  expect(await crawler.errors).toMatch(/TimeoutError: timed out after 50 ms: 1 active, 0 waiting/);
});
