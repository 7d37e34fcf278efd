/** Functions and iterators that a caller passes to a task run in the caller's asynchronous context. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, test } from 'vitest';
import { openWarm, until } from '../../tests/pool/pools.js';

const storage = new AsyncLocalStorage<string>();

test('a function, onProgress and an iterator run in the context of their own call', async () => {
  const { pool } = await openWarm();
  const seen = await Promise.all(
    ['A', 'B', 'C'].map((request) =>
      storage.run(request, async () => {
        const seen: unknown[] = [];
        const note = () => void seen.push(storage.getStore());
        await pool.run('callBack', [note]);
        await pool.run('progress', [1], { onProgress: note });
        async function* items() {
          note();
          try {
            yield 1;
            yield 2;
          } finally {
            note();
          }
        }
        await pool.run('firstOf', [items()]);
        await until(() => seen.length === 4);
        return seen.join('');
      }),
    ),
  );
  expect(seen).toEqual(['AAAA', 'BBBB', 'CCCC']);
});

test('a function that several callers pass runs in the context of each', async () => {
  const { pool, board } = await openWarm();
  const seen: unknown[] = [];
  const note = () => void seen.push(storage.getStore());
  const gate = board.gate();
  const held = pool.run('hold', [gate.number]);
  const runs = ['A', 'B', 'C'].map((request) =>
    storage.run(request, () => pool.run('callBack', [note])),
  );
  gate.open();
  await Promise.all([held, ...runs]);
  expect(seen).toEqual(['A', 'B', 'C']);
});

test('a getter of an argument runs in the context of the call, even if the task is sent later', async () => {
  const { pool, board } = await openWarm();
  const gate = board.gate();
  const held = pool.run('hold', [gate.number]);
  const runs = ['A', 'B'].map((request) =>
    storage.run(request, () =>
      pool.run('echo', [
        {
          get request() {
            return storage.getStore();
          },
        },
      ]),
    ),
  );
  gate.open();
  await held;
  expect(await Promise.all(runs)).toEqual([{ request: 'A' }, { request: 'B' }]);
});
