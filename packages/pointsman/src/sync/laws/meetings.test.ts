/** Barrier and Latch: who goes on when, who is counted, and what giving up leaves behind. */
import { nextMacrotask } from '@pointsman/spec';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Barrier, Latch } from '../index.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

describe('Barrier', () => {
  test('lets nobody go on until all have come; the last leads; then it begins anew', async () => {
    const barrier = new Barrier(3);
    expect(barrier.size).toBe(3);
    const order: string[] = [];
    const come = (name: string, options?: object) =>
      barrier.wait(options).then(({ isLeader }) => order.push(isLeader ? `${name}!` : name));
    for (const generation of [1, 2]) {
      order.length = 0;
      const all = [come('a'), come('b', { timeout: 1_000 })];
      await nextMacrotask();
      expect([order, barrier.waiting]).toEqual([[], 2]);
      all.push(come('c', generation === 1 ? undefined : {}));
      expect(barrier.waiting).toBe(0);
      await Promise.all(all);
      expect([...order].sort()).toEqual(['a', 'b', 'c!']);
    }
    expect(vi.getTimerCount()).toBe(0);
  });

  test('of one is never waited at', async () => {
    const barrier = new Barrier(1);
    expect(await barrier.wait()).toEqual({ isLeader: true });
    expect(await barrier.wait({ timeout: 0 })).toEqual({ isLeader: true });
  });

  test('who gives up is not counted', async () => {
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

  test('a request that was refused with its signal is not counted, and harms nobody later', async () => {
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

  test('an abort after all have come has no effect', async () => {
    const barrier = new Barrier(2);
    const controller = new AbortController();
    const { signal } = controller;
    const waits = [barrier.wait({ signal }), barrier.wait({ signal })];
    controller.abort('late');
    expect(await Promise.all(waits)).toEqual([{ isLeader: false }, { isLeader: true }]);
  });

  test('who has given up, but was not yet told, is not met', async () => {
    const barrier = new Barrier(2);
    const controller = new AbortController();
    const { signal } = controller;
    const late: Promise<unknown>[] = [];
    // It listens before those who wait.
    signal.addEventListener('abort', () => late.push(barrier.wait()));
    const gone = barrier.wait({ signal });
    controller.abort('gone');
    await expect(gone).rejects.toBe('gone');
    expect(barrier.waiting).toBe(1);
    expect(await barrier.wait()).toEqual({ isLeader: true });
    expect(await late[0]).toEqual({ isLeader: false });
  });

  test('generations have their size, one leader each, and nobody is in two', async () => {
    const step = fc.oneof(fc.constant('come' as const), fc.nat({ max: 9 }));
    const program = fc.array(step, { maxLength: 60, size: 'max' });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), program, async (size, steps) => {
        const barrier = new Barrier(size);
        let there: AbortController[] = [];
        let generation = 0;
        const met: [generation: number, isLeader: boolean][] = [];
        const expected: [generation: number, isLeader: boolean][] = [];
        for (const step of steps) {
          if (step === 'come') {
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

  test('bad input', async () => {
    for (const bad of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => new Barrier(bad)).toThrow(RangeError);
    }
    for (const bad of [undefined, null, '2', {}]) {
      expect(() => new Barrier(bad as never)).toThrow('size must be an integer >= 1');
    }
    for (const bad of [null, { maxWaiting: 1 }, { name: 1 }]) {
      expect(() => new Barrier(2, bad as never)).toThrow(TypeError);
    }
    const barrier = new Barrier(2);
    await expect(barrier.wait({ priority: 1 } as never)).rejects.toThrow('options has "priority"');
    const { wait } = barrier;
    await expect(wait()).rejects.toThrow(TypeError);
    expect(barrier.waiting).toBe(0);
  });
});

describe('Latch', () => {
  test('lets all go on at zero, in their order, and everybody from then on', async () => {
    const latch = new Latch(3);
    const order: number[] = [];
    const waits = [0, 1].map((n) =>
      latch.wait(n ? { timeout: 1_000 } : {}).then(() => order.push(n)),
    );
    latch.countDown();
    latch.countDown();
    await nextMacrotask();
    expect([order, latch.count, latch.waiting]).toEqual([[], 1, 2]);
    latch.countDown();
    await Promise.all(waits);
    expect([order, latch.count, latch.waiting]).toEqual([[0, 1], 0, 0]);
    await latch.wait();
    await latch.wait({ timeout: 0 });
    expect(vi.getTimerCount()).toBe(0);
  });

  test('counts several down at once, and nothing beyond zero', async () => {
    const latch = new Latch(5);
    latch.countDown(0);
    expect(latch.count).toBe(5);
    latch.countDown(4);
    const wait = latch.wait();
    latch.countDown(7);
    expect(latch.count).toBe(0);
    latch.countDown();
    expect(latch.count).toBe(0);
    await wait;
  });

  test('of zero is open', async () => {
    await new Latch(0).wait({ timeout: 0 });
  });

  test('who gives up leaves no trace; an abort after it opened has no effect', async () => {
    const latch = new Latch(1, { name: 'ready' });
    const controller = new AbortController();
    const other = new AbortController();
    const gone = latch.wait({ signal: controller.signal });
    const stays = latch.wait({ signal: other.signal });
    await expect(latch.wait({ timeout: 0 })).rejects.toThrow('ready: timed out after 0 ms');
    controller.abort('gone');
    expect(latch.waiting).toBe(1);
    latch.countDown();
    other.abort('late');
    await stays;
    await expect(gone).rejects.toBe('gone');
    await expect(latch.wait({ signal: other.signal })).rejects.toBe('late');
  });

  test('opened by a listener of the signal, it does not let those in whom it is about to tell', async () => {
    const latch = new Latch(1);
    const controller = new AbortController();
    controller.signal.addEventListener('abort', () => latch.countDown());
    const gone = latch.wait({ signal: controller.signal });
    const stays = latch.wait();
    controller.abort('gone');
    await expect(gone).rejects.toBe('gone');
    await stays;
  });

  test('bad input', async () => {
    for (const bad of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => new Latch(bad)).toThrow(RangeError);
      expect(() => new Latch(1).countDown(bad)).toThrow('n must be an integer >= 0');
    }
    for (const bad of [undefined, null, '2', {}]) {
      expect(() => new Latch(bad as never)).toThrow('count must be an integer >= 0');
    }
    expect(() => new Latch(2, { maxWaiting: 1 } as never)).toThrow('options has "maxWaiting"');
    const latch = new Latch(2);
    expect(() => latch.countDown(null as never)).toThrow(TypeError);
    expect(latch.count).toBe(2);
    const { wait } = latch;
    await expect(wait()).rejects.toThrow(TypeError);
  });
});
