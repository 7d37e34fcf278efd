/** Barrier: which waiters count, and which one leads. */
import { nextMacrotask } from '@pointsman/spec';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Barrier } from './index.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

test('releases all when the last one waits, which is the leader, and starts again', async () => {
  const barrier = new Barrier(3);
  expect(barrier.size).toBe(3);
  const order: string[] = [];
  const wait = (name: string, options?: object) =>
    barrier.wait(options).then(({ isLeader }) => order.push(isLeader ? `${name}!` : name));
  for (const generation of [1, 2]) {
    order.length = 0;
    const all = [wait('a'), wait('b', { timeout: 1_000 })];
    await nextMacrotask();
    expect([order, barrier.waiting]).toEqual([[], 2]);
    all.push(wait('c', generation === 1 ? undefined : {}));
    expect(barrier.waiting).toBe(0);
    await Promise.all(all);
    expect([...order].sort()).toEqual(['a', 'b', 'c!']);
  }
  expect(vi.getTimerCount()).toBe(0);
});

test('a barrier of one never waits', async () => {
  const barrier = new Barrier(1);
  expect(await barrier.wait()).toEqual({ isLeader: true });
  expect(await barrier.wait({ timeout: 0 })).toEqual({ isLeader: true });
});

test('a waiter that gives up does not count', async () => {
  const barrier = new Barrier(3, { name: 'start' });
  const controller = new AbortController();
  const gone = barrier.wait({ signal: controller.signal });
  const timed = barrier.wait({ timeout: 5 });
  await expect(barrier.wait({ timeout: -1 })).rejects.toThrow(RangeError);
  controller.abort('gone');
  vi.advanceTimersByTime(5);
  await expect(gone).rejects.toBe('gone');
  await expect(timed).rejects.toThrow('start: timed out after 5 ms');
  const first = barrier.wait();
  await expect(barrier.wait({ timeout: 0 })).rejects.toThrow('timed out after 0 ms');
  const second = barrier.wait({ signal: new AbortController().signal });
  expect(barrier.waiting).toBe(2);
  expect(await barrier.wait({ timeout: 0 })).toEqual({ isLeader: true });
  expect([await first, await second]).toEqual([{ isLeader: false }, { isLeader: false }]);
});

test('a refused request does not count, and its signal has no effect later', async () => {
  const barrier = new Barrier(2);
  const controller = new AbortController();
  const refused = barrier.wait({ signal: controller.signal, timeout: 0 });
  await expect(refused).rejects.toThrow('timed out');
  controller.abort();
  const first = barrier.wait();
  expect(await barrier.wait()).toEqual({ isLeader: true });
  expect(await first).toEqual({ isLeader: false });
  expect(barrier.waiting).toBe(0);
});

test('an abort after the last one waits has no effect', async () => {
  const barrier = new Barrier(2);
  const controller = new AbortController();
  const { signal } = controller;
  const waits = [barrier.wait({ signal }), barrier.wait({ signal })];
  controller.abort('late');
  expect(await Promise.all(waits)).toEqual([{ isLeader: false }, { isLeader: true }]);
});

test('a waiter whose signal has aborted, but that is still enqueued, does not count', async () => {
  const barrier = new Barrier(2);
  const controller = new AbortController();
  const { signal } = controller;
  const late: Promise<unknown>[] = [];
  // This listener runs before that of the waiter.
  signal.addEventListener('abort', () => late.push(barrier.wait()));
  const gone = barrier.wait({ signal });
  controller.abort('gone');
  await expect(gone).rejects.toBe('gone');
  expect(barrier.waiting).toBe(1);
  expect(await barrier.wait()).toEqual({ isLeader: true });
  expect(await late[0]).toEqual({ isLeader: false });
});

test('each generation has the size of the barrier and one leader; no waiter is in two', async () => {
  const step = fc.oneof(fc.constant('wait' as const), fc.nat({ max: 9 }));
  const program = fc.array(step, { maxLength: 60, size: 'max' });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), program, async (size, steps) => {
      const barrier = new Barrier(size);
      let there: AbortController[] = [];
      let generation = 0;
      const met: [generation: number, isLeader: boolean][] = [];
      const expected: [generation: number, isLeader: boolean][] = [];
      for (const step of steps) {
        if (step === 'wait') {
          const controller = new AbortController();
          const mine = generation;
          void barrier.wait({ signal: controller.signal }).then(
            ({ isLeader }) => met.push([mine, isLeader]),
            () => {},
          );
          there.push(controller);
          if (there.length === size) {
            expected.push(...there.map((_, n): [number, boolean] => [mine, n === size - 1]));
            there = [];
            generation += 1;
          }
        } else {
          const [controller] = there.splice(step % Math.max(there.length, 1), 1);
          controller?.abort();
        }
        expect(barrier.waiting).toBe(there.length);
      }
      await nextMacrotask();
      expect(met.sort().map(String)).toEqual(expected.sort().map(String));
    }),
    { numRuns: 300 },
  );
});
