/**
 * Runs the recipe of docs/how-to/retry.md, unchanged, against a server that answers 429.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, get as httpGet, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { type Limiter, retryAfter } from '../index.js';

interface Recipe {
  readonly api: Limiter;
  get(url: string): Promise<Response>;
}

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The recipe without the stand-in for the service and without its output. */
async function recipe(): Promise<Recipe> {
  const guide = readFileSync(pathOf('../../../../../docs/how-to/retry.md'), 'utf8');
  const [, block = ''] = /### Keep the place[\s\S]*?```ts\n([\s\S]*?)```/.exec(guide) ?? [];
  const code = block.replace(
    /\/\/ A stand-in for[\s\S]*?\n\n|^const response = .*\n|^console\.log.*\n/gm,
    '',
  );
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-recipe-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const outfile = join(folder, 'recipe.mjs');
  await build({
    stdin: { contents: `${code}\nexport { api, get };`, loader: 'ts', resolveDir: folder },
    alias: { pointsman: pathOf('../index.ts') },
    outfile,
    bundle: true,
    format: 'esm',
    target: 'es2022',
  });
  return import(pathToFileURL(outfile).href);
}

/** A server that refuses the first requests. Records the calls that it sees, and their times. */
async function serve(refusals: number, headers: () => Record<string, string>) {
  const seen: string[] = [];
  const times: number[] = [];
  const server = createServer(({ url = '' }, answer) => {
    seen.push(url.slice(1));
    times.push(performance.now());
    if (seen.length <= refusals) answer.writeHead(429, headers()).end('busy');
    else answer.end(`welcome ${url}`);
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  onTestFinished(() => void server.close());
  return { seen, times, url: `http://localhost:${(server.address() as AddressInfo).port}` };
}

beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0.02);
});

afterEach(() => {
  vi.restoreAllMocks();
});

const later = () => new Date(Date.now() + 1_000).toUTCString();

test.each<[string, () => Record<string, string>, number]>([
  ['no header', () => ({}), 20],
  ['a header that cannot be read', () => ({ 'retry-after': 'soon' }), 20],
  ['a number of seconds', () => ({ 'retry-after': '1' }), 1_000],
  ['a date', () => ({ 'retry-after': later() }), 0],
  ['a date that has passed', () => ({ 'retry-after': new Date(0).toUTCString() }), 0],
])(
  '%s: a call that is refused is retried before the calls that came later',
  async (_, headers, least) => {
    const { seen, times, url } = await serve(1, headers);
    const { api, get } = await recipe();
    api.setLimits({ concurrency: 1 });
    const done: string[] = [];
    const call = async (name: string) => {
      const response = await get(`${url}/${name}`);
      expect(await response.text()).toBe(`welcome /${name}`);
      done.push(name);
    };
    await Promise.all(['a', 'b', 'c'].map(call));
    expect(seen).toEqual(['a', 'a', 'b', 'c']);
    expect(done).toEqual(['a', 'b', 'c']);
    expect((times[1] as number) - (times[0] as number)).toBeGreaterThanOrEqual(least);
  },
);

test('concurrent calls keep their order, however often they are refused', async () => {
  const { seen, url } = await serve(4, () => ({}));
  const { api, get } = await recipe();
  api.setLimits({ concurrency: 2 });
  const names = ['a', 'b', 'c', 'd', 'e'];
  const statuses = await Promise.all(
    names.map(async (name) => (await get(`${url}/${name}`)).status),
  );
  expect(statuses).toEqual(names.map(() => 200));
  // Two at a time: until one of them succeeds, no later call reaches the server.
  const first = seen.slice(0, 5);
  expect(first.filter((name) => name !== 'a' && name !== 'b')).toEqual([]);
  expect(seen.length).toBe(9);
});

test('a server that keeps refusing gets five requests for a call; the caller gets its last response', async () => {
  const { seen, url } = await serve(Number.POSITIVE_INFINITY, () => ({}));
  const { api, get } = await recipe();
  const response = await get(`${url}/a`);
  expect([response.status, await response.text(), seen.length]).toEqual([429, 'busy', 5]);
  expect([api.running, api.waiting]).toEqual([0, 0]);
});

test('reads the header of a node:http response', async () => {
  const { url } = await serve(1, () => ({ 'Retry-After': '2' }));
  const answer = await new Promise<IncomingMessage>((resolve) => void httpGet(url, resolve));
  answer.resume();
  expect([retryAfter(answer), retryAfter(answer.headers)]).toEqual([2_000, 2_000]);
});
