/** Departures from every place of the wait queue: the other waiters keep their places, and no request is lost. */
import { nextMacrotask } from '@pointsman/spec';
import { expect, test } from 'vitest';
import { type AcquireOptions, Semaphore } from '../index.js';

/** Waiters of every kind, because a waiter with options is linked in another way than one without. */
const kinds: Record<string, AcquireOptions | undefined> = {
  plain: undefined,
  patient: {},
  ordinary: { priority: 0 },
  urgent: { priority: 1 },
  idle: { priority: -1 },
};

/** Every order in which some of these, or none, can be taken. */
function* ordersOf(items: readonly number[]): Generator<number[]> {
  yield [];
  for (const item of items) {
    for (const rest of ordersOf(items.filter((other) => other !== item))) yield [item, ...rest];
  }
}

/** Every row of this length of these items. */
function* rowsOf<Item>(items: readonly Item[], length: number): Generator<Item[]> {
  if (length === 0) {
    yield [];
    return;
  }
  for (const row of rowsOf(items, length - 1)) for (const item of items) yield [...row, item];
}

test('queues of up to four waiters of all kinds, with all departures in all orders', async () => {
  const wrong: string[] = [];
  const checks: (() => void)[] = [];
  for (const length of [1, 2, 3, 4]) {
    for (const row of rowsOf(Object.keys(kinds), length)) {
      const leavers = [...row.keys()].filter(
        (index) => row[index] !== 'plain' && row[index] !== 'patient',
      );
      for (const departures of ordersOf(leavers)) {
        const semaphore = new Semaphore(1);
        const held = semaphore.tryAcquire();
        const controllers = new Map(leavers.map((index) => [index, new AbortController()]));
        const granted: number[] = [];
        for (const [index, kind] of row.entries()) {
          const options = kinds[kind];
          const signal = controllers.get(index)?.signal;
          void semaphore.acquire(options && { ...options, signal }).then(
            (permit) => {
              granted.push(index);
              permit.release();
            },
            () => {},
          );
        }
        for (const index of departures) controllers.get(index)?.abort();
        const left = length - departures.length;
        const waiting = semaphore.waiting;
        held?.release();
        const priority = (index: number) => kinds[row[index] ?? '']?.priority ?? 0;
        const expected = [...row.keys()]
          .filter((index) => !departures.includes(index))
          .sort((one, other) => priority(other) - priority(one) || one - other);
        checks.push(() => {
          const found = `${granted}, ${waiting} waiting, idle: ${semaphore.idle}`;
          const right = `${expected}, ${left} waiting, idle: true`;
          if (found !== right) wrong.push(`${row} without ${departures}: ${found}; not ${right}`);
        });
      }
    }
  }
  await nextMacrotask();
  for (const check of checks) check();
  expect(checks.length).toBeGreaterThan(10_000);
  expect(wrong.slice(0, 10)).toEqual([]);
});

test('a request after each departure: it is at the end of the queue', async () => {
  const wrong: string[] = [];
  const checks: (() => void)[] = [];
  for (const row of rowsOf(Object.keys(kinds), 3)) {
    for (const leaver of [0, 1, 2]) {
      for (const newcomer of Object.keys(kinds)) {
        const semaphore = new Semaphore(1);
        const held = semaphore.tryAcquire();
        const controller = new AbortController();
        const granted: number[] = [];
        const enter = (index: number, options?: AcquireOptions) =>
          semaphore.acquire(options).then(
            (permit) => {
              granted.push(index);
              permit.release();
            },
            () => {},
          );
        for (const [index, kind] of row.entries()) {
          const { signal } = controller;
          void enter(index, index === leaver ? { ...kinds[kind], signal } : kinds[kind]);
        }
        controller.abort();
        void enter(3, kinds[newcomer]);
        held?.release();
        const names = [...row, newcomer];
        const priority = (index: number) => kinds[names[index] ?? '']?.priority ?? 0;
        const expected = [...names.keys()]
          .filter((index) => index !== leaver)
          .sort((one, other) => priority(other) - priority(one) || one - other);
        checks.push(() => {
          if (`${granted}` !== `${expected}`) {
            wrong.push(`${names} without ${leaver}: ${granted}; not ${expected}`);
          }
        });
      }
    }
  }
  await nextMacrotask();
  for (const check of checks) check();
  expect(wrong.slice(0, 10)).toEqual([]);
});
