/** Who is served when: all or nothing, in order, without polling, and fairly between processes. */
import { nextMacrotask } from '@pointsman/spec';
import { describe, expect, test } from 'vitest';
import {
  handlers,
  modes,
  type Outcome,
  untilHeld,
  untilWaiting,
  useServer,
  watch,
  ways,
} from '../../tests/redis/scene.js';
import type { RedisGuard, RedisMutex } from './index.js';

const scene = useServer();

/** Locks one after the other, each when the server has queued the one before. */
async function queue(first: RedisMutex, requests: [RedisMutex, string | string[]][]) {
  const waiters: Outcome<RedisGuard>[] = [];
  for (const [mutex, keys] of requests) {
    waiters.push(watch(mutex.lock(keys)));
    await untilWaiting(first, waiters.length);
  }
  return waiters;
}

const states = (outcomes: readonly Outcome<unknown>[]) => outcomes.map(({ state }) => state);

describe.each(ways)('$handler, $mode', (way) => {
  test('whoever waits for one key holds none of the others', async () => {
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

  test('overlapping sets of several processes never block each other for ever', async () => {
    const processes = [await scene.process(way), await scene.process(way)];
    await processes[0]?.query();
    const sets = [['a', 'b'], ['b', 'c'], ['c', 'a'], ['a', 'b', 'c'], ['b'], ['c', 'd', 'a']];
    const holders = new Map<string, number>();
    let done = 0;
    const work = async (mutex: RedisMutex, start: number) => {
      for (let i = 0; i < 12; i++) {
        const keys = sets[(start + i) % sets.length] as string[];
        await mutex.run(keys, async () => {
          for (const key of keys) {
            expect(holders.get(key), key).toBeUndefined();
            holders.set(key, start);
          }
          await nextMacrotask();
          for (const key of keys) holders.delete(key);
        });
        done++;
      }
    };
    await Promise.all(
      processes.flatMap((mutex, n) => [0, 1, 2].map((m) => work(mutex, 3 * n + m))),
    );
    expect(done).toBe(72);
  });

  test('while a lock is held elsewhere, whoever waits sends nothing', async () => {
    const [a, b] = [await scene.process(way), await scene.process({ ...way, ttl: 60_000 })];
    const busy = await scene.process({ ...way, mode: 'strict' });
    await a.lock('b');
    const guard = await a.lock('a');
    const waiter = watch(b.lock('a'));
    await untilWaiting(a, 1);
    const { batches } = b.metrics;
    // However much goes on elsewhere meanwhile.
    for (let n = 0; n < 50; n++) await busy.run(`other-${n}`, () => {});
    expect(waiter.state).toBe('pending');
    await guard.release();
    await waiter.promise;
    expect(b.metrics.batches).toBe(batches);
  });

  test('tasks of one process go in in the order of their calls', async () => {
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

  test('a try does not overtake whoever waits', async () => {
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
  test('strict: processes are served in the order in which they came', async () => {
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

  test('strict: of overlapping sets, the first that came is the first that is served', async () => {
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

  test('local: who waits elsewhere gets its turn among busy tasks with empty sections', async () => {
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

  test('local: and among tasks with overlapping sets', async () => {
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

  test('local: two busy processes both go on', async () => {
    // In a namespace that somebody else has begun, with leases that need no heartbeat here: what a
    // heartbeat would mend must not happen.
    await (await scene.process({ handler })).query();
    const long = { handler, ttl: 60_000 };
    const processes = [await scene.process(long), await scene.process(long)];
    const counts = [0, 0];
    let over = false;
    const spin = async (n: number) => {
      for (let i = 0; i < 20_000 && !over; i++) {
        await (processes[n] as RedisMutex).run('k', () => {
          (counts[n] as number)++;
        });
        over = Math.min(...counts) > 100;
      }
    };
    await Promise.all([0, 1, 0, 1].map(spin));
    expect(Math.min(...counts)).toBeGreaterThan(100);
    // Neither had to wait until the other had nothing more to do.
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
  test('a lock that goes from task to task is no business of the server', async () => {
    // A lease without a heartbeat during the test, in a namespace that somebody else has begun.
    await (await scene.process()).query();
    const mutex = await scene.process({ ttl: 60_000 });
    await mutex.run('k', () => {});
    const { batches } = mutex.metrics;
    const before = await scene.calls();
    await Promise.all(Array.from({ length: 2_000 }, () => mutex.run('k', nextMacrotask)));
    const after = await scene.calls();
    expect(mutex.metrics.handOffs).toBe(1_999);
    // The lock, fencing tokens in large portions, and the unlock.
    expect(mutex.metrics.batches - batches).toBeLessThan(6);
    expect((after.evalsha ?? 0) - (before.evalsha ?? 0)).toBeLessThan(6);
  });

  test('a lock is kept for the next task of this process only while one waits', async () => {
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
  test('they exclude each other and serve each other', async () => {
    const [a, b] = [
      await scene.process({ handler: 'script', mode }),
      await scene.process({ handler: 'pure', mode }),
    ];
    await a.query();
    let inside = 0;
    const work = async (mutex: RedisMutex) => {
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
