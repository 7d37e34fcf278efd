/** Fencing tokens grow with each holder of a key, also across losses. */
import { expect, test } from 'vitest';
import { everyWay, short, storeWays, useServer, ways } from '../../tests/redis/scene.js';
import type { SharedMutex } from './index.js';

const scene = useServer();

/** The tokens of the next holders of a key, in order. */
async function tokensOf(mutex: SharedMutex, times: number): Promise<number[]> {
  const tokens: number[] = [];
  const take = () => mutex.run(['k', 'l'], ({ token }) => tokens.push(token));
  await Promise.all(Array.from({ length: times }, take));
  return tokens;
}

function expectGrowth(tokens: readonly number[]) {
  expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
  for (const token of tokens) expect(Number.isSafeInteger(token) && token > 0).toBe(true);
}

test.each(storeWays)('among the tasks of one process: $handler, $mode', async (way) => {
  const tokens = await tokensOf(await scene.process(way), 300);
  expect(tokens).toHaveLength(300);
  expectGrowth(tokens);
});

test('between processes, handlers and modes', async () => {
  const processes: SharedMutex[] = [];
  for (const way of everyWay) processes.push(await scene.process(way));
  const tokens: number[] = [];
  for (let i = 0; i < 5; i++) {
    for (const mutex of processes) tokens.push(...(await tokensOf(mutex, 5)));
  }
  expectGrowth(tokens);
});

test('after the last close', async () => {
  const tokens: number[] = [];
  for (const way of everyWay) {
    const mutex = await scene.process(way);
    tokens.push(...(await tokensOf(mutex, 3)));
    await mutex.close();
    await expect.poll(() => scene.keys()).toEqual([]);
  }
  expectGrowth(tokens);
});

test.each(ways)('after FLUSHALL: $handler, $mode', async (way) => {
  const mutex = await scene.process({ ...way, ttl: short });
  const before = await tokensOf(mutex, 10);
  await scene.server.command('FLUSHALL');
  const between = await tokensOf(mutex, 10);
  await scene.server.command('FLUSHALL');
  const after = await tokensOf(await scene.process({ ...way, ttl: short }), 10);
  expectGrowth([...before, ...between, ...after]);
});

test('after a restart of the server without its data', async () => {
  const mutexes: SharedMutex[] = [];
  for (const way of everyWay) mutexes.push(await scene.process({ ...way, ttl: short }));
  const tokens: number[] = [];
  for (const mutex of mutexes) tokens.push(...(await tokensOf(mutex, 5)));
  await scene.server.restart();
  for (const mutex of mutexes) tokens.push(...(await tokensOf(mutex, 5)));
  expectGrowth(tokens);
});
