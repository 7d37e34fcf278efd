/** Where promises cannot be followed: deadlocks among tasks and what runs under locks. As in Deno and in Bun. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Mutex, Semaphore } from '../sync/index.js';
import { type Deadlock, on, runTask, snapshot, unwatch, watched } from './index.js';
import { usePlatform } from './platform.js';

usePlatform({ createStore: () => new AsyncLocalStorage() });

let found: Deadlock[];
let off: () => void;
let a: Mutex;
let b: Mutex;

beforeEach(() => {
  found = [];
  off = on('deadlock', (deadlock) => found.push(deadlock));
  a = watched(new Mutex(), { name: 'a' });
  b = watched(new Mutex(), { name: 'b' });
});

afterEach(() => {
  off();
  for (const mutex of [a, b]) {
    mutex.cancel();
    unwatch(mutex);
  }
});

async function rest(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setTimeout(resolve));
}

const both = async (first: Mutex, second: Mutex) => {
  using _ = await first.lock();
  await turn();
  using __ = await second.lock();
};

const names = () => found.map(({ members }) => members.map(({ context }) => context).sort());

test('between tasks', async () => {
  runTask('one', () => both(a, b)).catch(() => {});
  runTask('two', () => both(b, a)).catch(() => {});
  await rest();
  expect(names()).toEqual([['one', 'two']]);
});

test('between functions that run under a lock', async () => {
  const run = (first: Mutex, second: Mutex) =>
    first.run(() => turn().then(() => second.run(() => {})));
  run(a, b).catch(() => {});
  runTask('two', () => run(b, a)).catch(() => {});
  await rest();
  expect(names()).toEqual([['two', undefined]]);
});

test('not between functions of no runTask, nor with a task that is started under a lock', async () => {
  const plain = [both(a, b), both(b, a)];
  for (const each of plain) each.catch(() => {});
  await rest();
  for (const mutex of [a, b]) mutex.cancel();
  await Promise.allSettled(plain);
  const parent = (mine: Mutex, other: Mutex) =>
    mine.run(() => {
      void runTask('child', () => other.run(() => {}));
      return rest();
    });
  await Promise.all([runTask('one', () => parent(a, b)), runTask('two', () => parent(b, a))]);
  expect(found).toEqual([]);
});

test('not where a semaphore has another holder', async () => {
  const semaphore = watched(new Semaphore(3), { name: 'semaphore' });
  const free = await semaphore.acquire();
  const twice = async () => {
    using _ = await semaphore.acquire();
    await turn();
    using __ = await semaphore.acquire();
  };
  const tasks = [runTask('one', twice), runTask('two', twice)];
  await rest();
  expect(found).toEqual([]);
  free.release();
  await Promise.all(tasks);
  unwatch(semaphore);
});

test('a task gives its name to what it does, after an await too, and ends with its function', async () => {
  const result = await runTask('outer', async () => {
    await turn();
    const outer = await a.lock();
    const inner = await runTask('inner', () => b.lock());
    return [outer, inner];
  });
  expect(snapshot().primitives.map(({ holders }) => holders[0]?.context)).toEqual([
    'outer',
    'inner',
  ]);
  for (const permit of result) permit.release();
  expect(() =>
    runTask('throws', () => {
      throw new Error('from fn');
    }),
  ).toThrow('from fn');
});
