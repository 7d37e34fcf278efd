/** The order of service: all or nothing, FIFO, without polling, and fair between processes. */
import { nextMacrotask } from '@pointsman/spec';
import { describe, expect, test } from 'vitest';
import {
  handlers,
  modes,
  type Outcome,
  storeWays,
  untilHeld,
  untilWaiting,
  useServer,
  watch,
} from '../../tests/redis/scene.js';
import type { SharedGuard, SharedMutex } from './index.js';

const scene = useServer();

/** Sends requests one after another, each after the server has queued the previous one. */
async function queue(first: SharedMutex, requests: [SharedMutex, string | string[]][]) {
  const waiters: Outcome<SharedGuard>[] = [];
  for (const [mutex, keys] of requests) {
    waiters.push(watch(mutex.lock(keys)));
    await untilWaiting(first, waiters.length);
  }
  return waiters;
}

const states = (outcomes: readonly Outcome<unknown>[]) => outcomes.map(({ state }) => state);

describe.each(storeWays)('$handler, $mode', (way) => {
  test('a request that waits for one key holds none of its other keys', async () => {
    const [a, b] = [await scene.process(way), await scene.process(way)];
    const guard = await a.lock('y');
    const waiter = watch(b.lock(['x', 'y', 'z']));
    await untilWaiting(a, 1);
    expect((await a.query()).held.flatMap(({ keys }) => keys)).toEqual(['y']);
    expect(waiter.state).toBe('pending');
    await guard.release();
    await waiter.promise;
    await untilHeld(a, 'x', 'y', 'z');
  });

  test('a waiter sends nothing while another process holds the lock', async () => {
    // Another process has begun the namespace, and no end of a lease is due during the test.
    await (await scene.process(way)).query();
    const long = { ...way, ttl: 60_000 };
    const [a, b] = [await scene.process(long), await scene.process(long)];
    const busy = await scene.process({ ...long, mode: 'strict' });
    await a.lock('b');
    const guard = await a.lock('a');
    const waiter = watch(b.lock('a'));
    await untilWaiting(a, 1);
    const { batches } = b.metrics;
    // Other keys are locked and released during the wait.
    for (let n = 0; n < 50; n++) await busy.run(`other-${n}`, () => {});
    expect(waiter.state).toBe('pending');
    await guard.release();
    await waiter.promise;
    expect(b.metrics.batches).toBe(batches);
  });

  test('tasks of one process are served in the order of their calls', async () => {
    const mutex = await scene.process(way);
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        mutex.run(n % 3 === 0 ? ['a', 'b'] : 'a', () => {
          order.push(n);
        }),
      ),
    );
    expect(order).toEqual(Array.from({ length: 100 }, (_, n) => n));
  });

  test('a try does not overtake waiters', async () => {
    const [a, b, c] = [
      await scene.process(way),
      await scene.process(way),
      await scene.process(way),
    ];
    const guard = await a.lock('x');
    const waiter = watch(b.lock(['x', 'y']));
    await untilWaiting(a, 1);
    expect(await c.tryLock('y')).toBeUndefined();
    await guard.release();
    await waiter.promise;
  });
});

describe.each(handlers)('%s', (handler) => {
  test('strict: processes are served in the order of their requests', async () => {
    const way = { handler, mode: 'strict' } as const;
    const [a, b, c] = [
      await scene.process(way),
      await scene.process(way),
      await scene.process(way),
    ];
    const first = await a.lock('k');
    const waiters = await queue(a, [
      [b, 'k'],
      [a, 'k'],
      [c, 'k'],
      [b, 'k'],
      [a, 'k'],
    ]);
    await first.release();
    for (const [n, waiter] of waiters.entries()) {
      const guard = await waiter.promise;
      expect(states(waiters.slice(n + 1))).toEqual(waiters.slice(n + 1).map(() => 'pending'));
      await guard.release();
    }
  });

  test('strict: overlapping sets are served in the order of their requests', async () => {
    const way = { handler, mode: 'strict' } as const;
    const [a, b] = [await scene.process(way), await scene.process(way)];
    const [x, y] = [await a.lock('x'), await a.lock('y')];
    const waiters = await queue(a, [
      [b, ['x', 'y']],
      [a, 'y'],
      [b, ['y', 'z']],
      [a, 'z'],
    ]);
    await y.release();
    expect(await b.query()).toMatchObject({ waiting: { length: 4 } });
    await x.release();
    for (const waiter of waiters.slice(0, 3)) await (await waiter.promise).release();
    expect((await waiters[3]?.promise)?.keys).toEqual(['z']);
  });

  test('local: a waiter of another process is served among tasks with empty critical sections', async () => {
    const [busy, other] = [await scene.process({ handler }), await scene.process({ handler })];
    await busy.query();
    const laps = 100_000;
    let count = 0;
    let granted = Number.POSITIVE_INFINITY;
    const spin = async () => {
      for (let i = 0; i < laps && granted === Number.POSITIVE_INFINITY; i++) {
        const guard = await busy.lock('k');
        count++;
        void guard.release();
      }
    };
    const spinning = [spin(), spin()];
    await expect.poll(() => count).toBeGreaterThan(0);
    const guard = await other.lock('k');
    granted = count;
    await guard.release();
    await Promise.all(spinning);
    expect(granted).toBeLessThan(2 * laps);
    expect(busy.metrics.handOffs).toBeGreaterThan(0);
    expect(busy.metrics.revocations).toBeGreaterThan(0);
  });

  test('local: a waiter of another process is served among tasks with overlapping sets', async () => {
    const [busy, other] = [await scene.process({ handler }), await scene.process({ handler })];
    await busy.query();
    const sets = [['a', 'b'], ['b', 'c'], ['c', 'a'], ['b']];
    const laps = 20_000;
    let count = 0;
    let over = false;
    const spin = async (n: number) => {
      for (let i = 0; i < laps && !over; i++) {
        await busy.run(sets[(n + i) % sets.length] as string[], () => {
          count++;
        });
      }
    };
    const spinning = [0, 1, 2, 3, 4].map(spin);
    await expect.poll(() => count).toBeGreaterThan(0);
    for (const keys of [['a', 'c'], 'b', ['a', 'b', 'c']]) await other.run(keys, () => {});
    over = true;
    expect(count).toBeLessThan(5 * laps);
    await Promise.all(spinning);
  });

  test('local: two busy processes both make progress', async () => {
    // Another process has begun the namespace, and no heartbeat repairs the state during the test.
    await (await scene.process({ handler })).query();
    const long = { handler, ttl: 60_000 };
    const processes = [await scene.process(long), await scene.process(long)];
    const counts = [0, 0];
    let over = false;
    const spin = async (n: number) => {
      for (let i = 0; i < 20_000 && !over; i++) {
        await (processes[n] as SharedMutex).run('k', () => {
          (counts[n] as number)++;
        });
        over = Math.min(...counts) > 100;
      }
    };
    await Promise.all([0, 1, 0, 1].map(spin));
    expect(Math.min(...counts)).toBeGreaterThan(100);
    // Neither waited until the other had finished.
    expect(Math.max(...counts)).toBeLessThan(40_000);
  });

  test('a strict waiter gets its turn while others hand over locally', async () => {
    const [busy, strict] = [
      await scene.process({ handler }),
      await scene.process({ handler, mode: 'strict' }),
    ];
    await busy.query();
    let over = false;
    let count = 0;
    const spin = async () => {
      for (let i = 0; i < 100_000 && !over; i++) {
        await busy.run('k', () => {
          count++;
        });
      }
    };
    const spinning = [spin(), spin()];
    await expect.poll(() => count).toBeGreaterThan(0);
    await strict.run('k', () => {});
    over = true;
    await Promise.all(spinning);
    expect(count).toBeLessThan(200_000);
  });
});

describe('local', () => {
  test('hand-overs between tasks need no command each', async () => {
    // Another process has begun the namespace, and there is no heartbeat during the test.
    await (await scene.process()).query();
    const mutex = await scene.process({ ttl: 60_000 });
    await mutex.run('k', () => {});
    const { batches } = mutex.metrics;
    const before = await scene.calls();
    await Promise.all(Array.from({ length: 2_000 }, () => mutex.run('k', nextMacrotask)));
    const after = await scene.calls();
    expect(mutex.metrics.handOffs).toBe(1_999);
    // The lock, reservations of many tokens, and the unlock.
    expect(mutex.metrics.batches - batches).toBeLessThan(6);
    expect((after.evalsha ?? 0) - (before.evalsha ?? 0)).toBeLessThan(6);
  });

  test('a process keeps a lock only while one of its tasks waits for it', async () => {
    const [a, b] = [await scene.process(), await scene.process()];
    const guard = await a.lock('k');
    await guard.release();
    await untilHeld(b);
    expect(await b.tryLock('k')).toMatchObject({ valid: true });
  });

  test('tasks with other keys do not wait for each other', async () => {
    const mutex = await scene.process();
    const held = await mutex.lock(['a', 'b']);
    expect(await mutex.run(['c', 'd'], () => 'other')).toBe('other');
    const waiter = watch(mutex.lock(['b', 'c']));
    expect(await mutex.run('d', () => 'free')).toBe('free');
    expect(waiter.state).toBe('pending');
    await held.release();
    await (await waiter.promise).release();
  });
});

describe.each(modes)('%s, with both handlers in one namespace', (mode) => {
  test('processes exclude and serve each other', async () => {
    const [a, b] = [
      await scene.process({ handler: 'script', mode }),
      await scene.process({ handler: 'pure', mode }),
    ];
    await a.query();
    let inside = 0;
    const work = async (mutex: SharedMutex) => {
      for (let i = 0; i < 20; i++) {
        await mutex.run(['k', `${i % 3}`], async () => {
          expect(++inside).toBe(1);
          await nextMacrotask();
          inside--;
        });
      }
    };
    await Promise.all([work(a), work(b), work(a), work(b)]);
    await untilHeld(a);
  });
});
