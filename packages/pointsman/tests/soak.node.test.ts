/** The soak in its short form; `make soak` runs the long one. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { growth } from './soak/soak.js';

const program = fileURLToPath(new URL('soak/run.js', import.meta.url));

test('every call gets its own answer, also when workers end meanwhile', {
  timeout: 120_000,
}, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--expose-gc',
    program,
    '200000',
    String(Date.now() % 100_000),
  ]);
  expect(stdout.trim().split('\n').at(-1)).toMatch(/^ok: \d{6} calls by \d+ workers/);
});

test('growing memory is reported', () => {
  const flat = Array.from({ length: 40 }, (_, worker) => 100 + (worker % 3));
  const grown = flat.map((size, worker) => size + worker);
  const soaked = { calls: 1, workers: 40, seconds: 1, answered: 1, ended: 1 };
  expect(growth({ ...soaked, heap: flat, rss: flat })).toBeUndefined();
  expect(growth({ ...soaked, heap: grown, rss: flat })).toMatch(/the heap has grown/);
  expect(growth({ ...soaked, heap: flat, rss: grown.map((size) => 8 * size) })).toMatch(/rss has/);
});
