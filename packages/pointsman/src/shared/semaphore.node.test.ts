/** The semaphore on Redis, with both handlers, and on one machine: weights, order, live limits, dead processes and bad input. */
import { describe, expect, test } from 'vitest';
import { short, soon, storeHandlers, useServer, watch } from '../../tests/redis/scene.js';
import {
  type SharedGuard,
  SharedMutex,
  SharedSemaphore,
  type SharedSemaphoreOptions,
} from './index.js';

const scene = useServer();

describe.each(storeHandlers)('%s', (handler) => {
  /** Of what a server, or the way there, can suffer. */
  const onServer = test.skipIf(handler === 'host');
  const open = async (limit: number, ttl = 1_000, options: SharedSemaphoreOptions = {}) =>
    new SharedSemaphore(await scene.store({ handler, ttl }), limit, options);
  const untilWaiting = (semaphore: SharedSemaphore, count: number) =>
    expect.poll(async () => (await semaphore.query()).waiting.length, soon).toBe(count);

  test('at most the limit is held, over all processes', async () => {
    const processes = [await open(3), await open(3), await open(3)];
    let [inside, most, runs] = [0, 0, 0];
    await Promise.all(
      processes.flatMap((semaphore) =>
        Array.from({ length: 10 }, (_, i) =>
          semaphore.run(
            'k',
            async (guard) => {
              const weight = (i % 3) + 1;
              inside += weight;
              most = Math.max(most, inside);
              await new Promise((resolve) => setTimeout(resolve, 2));
              expect(guard.valid).toBe(true);
              inside -= weight;
              runs++;
            },
            { weight: (i % 3) + 1 },
          ),
        ),
      ),
    );
    expect([most, runs, inside]).toEqual([3, 30, 0]);
  });

  test('a small request does not pass an earlier large one', async () => {
    const [a, b] = [await open(3), await open(3)];
    const first = await a.acquire('k', { weight: 2 });
    const large = watch(b.acquire('k', { weight: 3 }));
    await untilWaiting(a, 1);
    expect(await a.tryAcquire('k')).toBe(undefined);
    const small = watch(a.acquire('k'));
    await untilWaiting(a, 2);
    await first.release();
    const held = await large.promise;
    expect(small.state).toBe('pending');
    await held.release();
    await small.promise;
  });

  test('a second release gives nothing back', async () => {
    const semaphore = await open(2);
    const [first] = [await semaphore.acquire('k'), await semaphore.acquire('k')];
    await first.release();
    await first.release();
    expect(await semaphore.tryAcquire('k', { weight: 2 })).toBe(undefined);
    expect((await semaphore.tryAcquire('k'))?.valid).toBe(true);
  });

  test('tasks of one process hand a permit to each other in the order of their calls', async () => {
    const semaphore = await open(1);
    const first = await semaphore.acquire('k');
    const order: number[] = [];
    const tokens: number[] = [first.token];
    const runs = [1, 2, 3].map((task) =>
      semaphore.run('k', (guard) => {
        order.push(task);
        tokens.push(guard.token);
      }),
    );
    await untilWaiting(semaphore, 3);
    await first.release();
    await Promise.all(runs);
    expect(order).toEqual([1, 2, 3]);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    await semaphore.drain();
    expect(await semaphore.query()).toEqual({ held: [], waiting: [] });
  });

  test('in the mode strict all tasks of all processes are served in the order of their requests', async () => {
    const strict = { mode: 'strict' } as const;
    const [one, other] = [await open(1, 1_000, strict), await open(1, 1_000, strict)];
    const first = await one.acquire('k');
    const order: string[] = [];
    const runs: Promise<unknown>[] = [];
    for (const [task, semaphore] of Object.entries({ a: one, b: other, c: one, d: other })) {
      runs.push(semaphore.run('k', () => order.push(task)));
      await untilWaiting(other, runs.length);
    }
    await first.release();
    await Promise.all(runs);
    expect(order).toEqual(['a', 'b', 'c', 'd']);
  });

  test('a process that never stops handing a permit on does not starve another', async () => {
    const [busy, other] = [await open(1), await open(1)];
    let stopped = false;
    const task = async () => {
      while (!stopped) await busy.run('k', () => {});
    };
    const tasks = [task(), task(), task()];
    for (let turn = 0; turn < 3; turn++) await other.run('k', () => {});
    stopped = true;
    await Promise.all(tasks);
  });

  test('a waiter that gives up is handed no permit, and the next one is', async () => {
    const semaphore = await open(1);
    const first = await semaphore.acquire('k');
    const gone = new AbortController();
    const [left, next] = [
      watch(semaphore.acquire('k', { signal: gone.signal })),
      watch(semaphore.acquire('k')),
    ];
    await untilWaiting(semaphore, 2);
    gone.abort(new Error('gone'));
    await first.release();
    await expect(left.promise).rejects.toThrow('gone');
    expect((await next.promise).valid).toBe(true);
  });

  test('after a hand-over a permit is free for tryAcquire as soon as it is released', async () => {
    const semaphore = await open(1);
    const first = await semaphore.acquire('k');
    const next = semaphore.acquire('k');
    await untilWaiting(semaphore, 1);
    void first.release();
    void (await next).release();
    expect((await semaphore.tryAcquire('k'))?.valid).toBe(true);
  });

  test.each(['local', 'strict'] as const)(
    'a guard that is released while others of its session are lost is not held again: %s',
    async (mode) => {
      const semaphore = await open(5, short, { mode });
      const [lost, released] = [await semaphore.acquire('k'), await semaphore.acquire('k')];
      lost.signal.addEventListener('abort', () => void released.release());
      // Longer than the lease.
      for (const end = performance.now() + short + 50; performance.now() < end; );
      expect(lost.valid).toBe(false);
      await semaphore.drain();
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect((await semaphore.query()).held).toEqual([]);
    },
  );

  test('a permit is not handed past an earlier request for another weight', async () => {
    const semaphore = await open(2);
    const first = await semaphore.acquire('k');
    const order: string[] = [];
    const both = semaphore.run('k', () => void order.push('both'), { weight: 2 });
    await untilWaiting(semaphore, 1);
    const one = semaphore.run('k', () => void order.push('one'));
    await untilWaiting(semaphore, 2);
    await first.release();
    await Promise.all([both, one]);
    expect(order).toEqual(['both', 'one']);
  });

  test('a close while permits are handed on rejects all that wait and frees all permits', async () => {
    const [semaphore, other] = [await open(2), await open(2)];
    const held = [await semaphore.acquire('k'), await semaphore.acquire('k')];
    const waiters = Array.from({ length: 4 }, () => watch(semaphore.acquire('k')));
    await untilWaiting(other, 4);
    await held[0]?.release();
    await waiters[0]?.promise;
    await semaphore.close(new Error('over'));
    for (const { promise } of waiters.slice(1)) await expect(promise).rejects.toThrow('over');
    expect((await waiters[0]?.promise)?.valid).toBe(false);
    expect((await other.acquire('k', { weight: 2 })).valid).toBe(true);
  });

  test('a request over several keys takes permits of all or of none', async () => {
    const [a, b] = [await open(2), await open(2)];
    const held = await a.acquire('y', { weight: 2 });
    const both = watch(b.acquire(['x', 'y']));
    await untilWaiting(a, 1);
    expect((await a.query()).held).toMatchObject([{ keys: ['y'], weight: 2 }]);
    await held.release();
    expect((await both.promise).keys).toEqual(['x', 'y']);
  });

  test('a limit is changed for all processes while requests wait', async () => {
    const [a, b] = [await open(1), await open(1)];
    const first = await a.acquire('k');
    const waiters = [watch(b.acquire('k')), watch(b.acquire('k'))];
    await untilWaiting(a, 2);
    await a.setLimit('k', 2);
    const second = (await waiters[0]?.promise) as SharedGuard;
    expect(waiters[1]?.state).toBe('pending');
    await b.setLimit('k', 1);
    await first.release();
    // One is held and the limit is 1 again.
    expect(await a.tryAcquire('k')).toBe(undefined);
    expect(waiters[1]?.state).toBe('pending');
    await second.release();
    await waiters[1]?.promise;
  });

  test('a process that has lowered a limit hands no permit on', async () => {
    const [semaphore, other] = [await open(2), await open(2)];
    const [first, second] = [await semaphore.acquire('k'), await semaphore.acquire('k')];
    const waiting = watch(semaphore.acquire('k'));
    await untilWaiting(other, 1);
    await semaphore.setLimit('k', 1);
    await first.release();
    expect((await other.query()).waiting.length).toBe(1);
    expect(waiting.state).toBe('pending');
    await second.release();
    await waiting.promise;
  });

  test('a weight above the first limit is accepted once the limit is raised', async () => {
    const semaphore = await open(2);
    await expect(semaphore.acquire('k', { weight: 3 })).rejects.toThrow(/weight/);
    await semaphore.setLimit('k', 5);
    const guard = await semaphore.acquire('k', { weight: 5 });
    expect(await semaphore.tryAcquire('k')).toBe(undefined);
    await guard.release();
    await expect(semaphore.acquire('k', { weight: 6 })).rejects.toThrow(/weight/);
  });

  onServer(
    'the permits of a process that stops renewing come back with the end of its lease',
    async () => {
      const proxy = await scene.proxy();
      const dead = new SharedSemaphore(
        await scene.store({ handler, ttl: short, port: proxy.port }),
        2,
      );
      const lost = await dead.acquire('k', { weight: 2 });
      const waiter = watch((await open(2, short)).acquire('k'));
      await proxy.stop();
      expect((await waiter.promise).valid).toBe(true);
      expect(lost.valid).toBe(false);
    },
  );

  test('the holder of a mutex excludes all permits of its key', async () => {
    const store = await scene.store({ handler });
    const [semaphore, mutex] = [new SharedSemaphore(store, 5), new SharedMutex(store)];
    const guard = await mutex.lock('k');
    expect(await semaphore.tryAcquire('k')).toBe(undefined);
    await guard.release();
    await semaphore.acquire('k', { maxHold: 20 });
    expect((await mutex.lock('k')).valid).toBe(true);
  });
});

test('bad input is refused before anything is sent', async () => {
  const store = await scene.store();
  for (const limit of [0, 1.5, -1, 2 ** 31, '3', undefined]) {
    expect(() => new SharedSemaphore(store, limit as never)).toThrow(/limit must be/);
  }
  const semaphore = new SharedSemaphore(store, 3);
  for (const weight of [0, 4, 1.5, '1']) {
    await expect(semaphore.acquire('k', { weight: weight as never })).rejects.toThrow(/weight/);
    await expect(semaphore.tryAcquire('k', { weight: weight as never })).rejects.toThrow(/weight/);
  }
  await expect(semaphore.acquire('k', { maxHold: 0 })).rejects.toThrow(/maxHold/);
  await expect(semaphore.acquire('')).rejects.toThrow(/keys must be/);
  await expect(semaphore.setLimit('k', 0)).rejects.toThrow(/limit must be/);
  await expect(semaphore.setLimit('', 1)).rejects.toThrow(/keys must be/);
  expect(await scene.keys()).toEqual([]);
});
