/** `shutdown` of every primitive that grants permits: new requests are refused, waiting requests are served. */
import { nextMacrotask } from '@pointsman/spec';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { asyncDispose } from '../dispose.js';
import {
  ClosedError,
  Condition,
  KeyedMutex,
  KeyedRwLock,
  Limiter,
  Mutex,
  type Permit,
  RwLock,
  Semaphore,
  TimeoutError,
  type WritePermit,
} from '../index.js';
import { holders } from './holders.js';

/** Whether a promise has settled once everything that is ready has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const note = (): void => {
    settled = true;
  };
  promise.then(note, note);
  await nextMacrotask();
  return settled;
}

describe.each(Object.entries(holders))('%s', (_, make) => {
  test('refuses new requests, serves those that wait, and resolves when all permits are released', async () => {
    const { object, request, tries } = make();
    const first = await request();
    const waits = [request(), request({ timeout: 60_000 })];
    const shutdown = object.shutdown();
    expect(object.closed).toBe(true);
    await expect(request()).rejects.toThrow(ClosedError);
    await expect(request({ timeout: 0 })).rejects.toThrow(ClosedError);
    expect(tries).toThrow(ClosedError);
    for (const held of [first, ...waits]) {
      expect(await isSettled(shutdown)).toBe(false);
      expect((await held).released).toBe(false);
      (await held).release();
    }
    await shutdown;
    expect(object.waiting).toBe(0);
    await expect(request()).rejects.toThrow(ClosedError);
  });

  test('resolves at once if nothing is held, also a second time and by await using', async () => {
    const { object, request } = make();
    await object.shutdown();
    await object.shutdown({ timeout: 0 });
    await object[asyncDispose]();
    await object.drain();
    await expect(request()).rejects.toThrow(ClosedError);
  });

  test('all calls wait for the same end', async () => {
    const { object, request } = make();
    const held = await request();
    const waiter = request();
    const ends = [object.shutdown(), object.drain(), object.shutdown(), object[asyncDispose]()];
    expect(await isSettled(Promise.race(ends))).toBe(false);
    held.release();
    expect(await isSettled(Promise.race(ends))).toBe(false);
    (await waiter).release();
    await Promise.all(ends);
  });

  test('a timeout bounds only the wait of the call; the error says how much is left', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const { object, request } = make('jobs');
      const held = await request();
      const waiter = request();
      const waiting = object.waiting;
      const end = object.shutdown({ timeout: 50 });
      vi.advanceTimersByTime(50);
      await expect(end).rejects.toThrow(TimeoutError);
      await expect(end).rejects.toThrow(
        new RegExp(`^jobs: timed out after 50 ms: \\d active, ${waiting} waiting$`),
      );
      expect(object.closed).toBe(true);
      await expect(object.shutdown({ timeout: 0 })).rejects.toThrow('jobs: timed out after 0 ms: ');
      held.release();
      expect((await waiter).released).toBe(false);
      (await waiter).release();
      await object.shutdown();
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test('a signal bounds only the wait of the call, even if it has aborted before', async () => {
    const { object, request } = make();
    const held = await request();
    const waiter = request();
    const controller = new AbortController();
    const reason = new TimeoutError('the deadline of the caller');
    const end = object.shutdown({ signal: controller.signal });
    controller.abort(reason);
    await expect(end).rejects.toBe(reason);
    expect(object.closed).toBe(true);
    held.release();
    (await waiter).release();

    const other = make();
    const otherHeld = await other.request();
    await expect(other.object.shutdown({ signal: AbortSignal.abort('late') })).rejects.toBe('late');
    expect(other.object.closed).toBe(true);
    otherHeld.release();
  });

  test('invalid options have no effect', async () => {
    const { object } = make();
    for (const options of [
      { timeout: -1 },
      { timeout: '1' },
      { signal: 1 },
      { tiemout: 1 },
      null,
    ]) {
      await expect(object.shutdown(options as never)).rejects.toThrow(/^(timeout|signal|options) /);
    }
    expect(object.closed).toBe(false);
  });

  test('close rejects waiting requests with its reason; new requests get that of the shutdown', async () => {
    const { object, request } = make();
    const held = await request();
    const waits = [request(), request({ timeout: 60_000 })];
    const end = object.shutdown();
    object.close('enough');
    object.close('too late');
    for (const wait of waits) await expect(wait).rejects.toBe('enough');
    await expect(request()).rejects.toThrow(ClosedError);
    expect(held.released).toBe(false);
    expect(await isSettled(end)).toBe(false);
    held.release();
    await end;
  });

  test('close without a reason rejects waiting requests with a ClosedError', async () => {
    const { object, request } = make();
    const held = await request();
    const wait = request();
    const end = object.shutdown();
    object.close();
    await expect(wait).rejects.toThrow(ClosedError);
    held.release();
    await end;
  });

  test('after close it waits for held permits, and new requests get the reason of close', async () => {
    const { object, request } = make();
    const held = await request();
    object.close('first');
    const end = object.shutdown();
    await expect(request()).rejects.toBe('first');
    expect(await isSettled(end)).toBe(false);
    held.release();
    await end;
  });

  test('a waiter that gives up or is cancelled leaves the queue, and the others are served', async () => {
    const { object, request } = make();
    const held = await request();
    const controller = new AbortController();
    const gone = request({ signal: controller.signal });
    const next = request();
    const end = object.shutdown();
    controller.abort('gone');
    await expect(gone).rejects.toBe('gone');
    held.release();
    expect((await next).released).toBe(false);
    (await next).release();
    await end;

    const other = make();
    const otherHeld = await other.request();
    const cancelled = other.request();
    const otherEnd = other.object.shutdown();
    other.object.cancel('cancelled');
    await expect(cancelled).rejects.toBe('cancelled');
    await expect(other.request()).rejects.toThrow(ClosedError);
    otherHeld.release();
    await otherEnd;
  });

  test('a permit is valid in the same step in which it is granted', async () => {
    const { object, request } = make();
    const held = await request();
    const waiter = request();
    held.release();
    const end = object.shutdown();
    const granted = await waiter;
    expect([granted.released, await isSettled(end)]).toEqual([false, false]);
    granted.release();
    await end;
  });

  test('in any order of releases, aborts and the shutdown, every earlier request is served', async () => {
    const steps = fc.array(fc.constantFrom('request', 'release', 'abort', 'shutdown'), {
      minLength: 4,
      maxLength: 30,
    });
    await fc.assert(
      fc.asyncProperty(steps, async (steps) => {
        const { object, request } = make();
        const held: Permit[] = [];
        const waits: { controller: AbortController; outcome: unknown; late: boolean }[] = [];
        let end: Promise<void> | undefined;
        for (const step of [...steps, 'shutdown']) {
          if (step === 'request') {
            const controller = new AbortController();
            const wait = { controller, outcome: undefined as unknown, late: object.closed };
            waits.push(wait);
            const { signal } = controller;
            request({ signal }).then(
              (permit) => {
                wait.outcome = permit;
                held.push(permit);
              },
              (error) => {
                wait.outcome = error;
              },
            );
          } else if (step === 'release') {
            held.pop()?.release();
          } else if (step === 'abort') {
            waits.find(({ outcome }) => outcome === undefined)?.controller.abort('gone');
          } else {
            end = object.shutdown();
          }
          await nextMacrotask();
          expect(held.length).toBeLessThanOrEqual(1);
        }
        while (held.length > 0 || object.waiting > 0) {
          expect(held.length).toBe(1);
          held.pop()?.release();
          await nextMacrotask();
        }
        await end;
        for (const { outcome, late } of waits) {
          if (late) expect(outcome).toBeInstanceOf(ClosedError);
          else expect(outcome === 'gone' || (outcome as Permit).released).toBe(true);
        }
      }),
      { numRuns: 30 },
    );
  });
});

test('a semaphore with a limit of 0 serves its queue when the limit is raised', async () => {
  const semaphore = new Semaphore(0);
  const wait = semaphore.acquire({ permits: 2 });
  const end = semaphore.shutdown();
  expect(await isSettled(end)).toBe(false);
  semaphore.limit = 2;
  expect((await wait).permits).toBe(2);
  await expect(semaphore.acquire()).rejects.toThrow(ClosedError);
  (await wait).release();
  await end;
});

test('requests for several keys are served in their turn, with requests for one key between them', async () => {
  const mutex = new KeyedMutex<string>();
  const [a, b] = [await mutex.lock('a'), await mutex.lock('b')];
  const order: string[] = [];
  const runs = [
    mutex.runAll(['a', 'b'], () => order.push('a and b')),
    mutex.run('b', () => order.push('b')),
    mutex.runAll(['b', 'c'], () => order.push('b and c')),
  ];
  const end = mutex.shutdown();
  await expect(mutex.lockAll(['c', 'd'])).rejects.toThrow(ClosedError);
  await expect(mutex.lock('e')).rejects.toThrow(ClosedError);
  a.release();
  expect(order).toEqual([]);
  b.release();
  await Promise.all([...runs, end]);
  expect([order, mutex.keyCount]).toEqual([['a and b', 'b', 'b and c'], 0]);
});

test('shuts down all keys in use, and refuses new keys', async () => {
  const locks = new KeyedRwLock<string>();
  const held = [await locks.read('a'), await locks.write('b')];
  const waits = [locks.write('a'), locks.read('b')];
  const end = locks.shutdown({ timeout: 0 });
  await expect(end).rejects.toThrow('timed out after 0 ms: 2 active, 2 waiting');
  for (const key of ['a', 'b', 'c']) {
    await expect(locks.read(key)).rejects.toThrow(ClosedError);
    expect(() => locks.tryWrite(key)).toThrow(ClosedError);
  }
  expect([...locks.keys()]).toEqual(['a', 'b']);
  for (const permit of held) permit.release();
  for (const wait of waits) (await wait).release();
  await locks.shutdown();
  expect(locks.keyCount).toBe(0);
});

test('a writer may downgrade, and waiting readers are admitted with it', async () => {
  const lock = new RwLock();
  const write: WritePermit = await lock.write();
  const waits = [lock.read(), lock.write()] as const;
  const end = lock.shutdown();
  const read = write.downgrade();
  expect([(await waits[0]).released, read.released, lock.readers]).toEqual([false, false, 2]);
  read.release();
  (await waits[0]).release();
  expect((await waits[1]).released).toBe(false);
  expect(await isSettled(end)).toBe(false);
  (await waits[1]).release();
  await end;
});

test('a limiter serves requests that wait for a rate, and paused ones after resume', async () => {
  vi.useFakeTimers();
  try {
    const limiter = new Limiter({ concurrency: 5, rate: { limit: 1, per: 1_000 } });
    const runs = [1, 2, 3].map((n) => limiter.run(() => n));
    limiter.pause();
    const end = limiter.shutdown();
    await expect(limiter.run(() => 4)).rejects.toThrow(ClosedError);
    expect(() => limiter.tryAcquire()).toThrow(ClosedError);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(limiter.waiting).toBe(2);
    limiter.resume();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await Promise.all(runs)).toEqual([1, 2, 3]);
    await end;
  } finally {
    vi.useRealTimers();
  }
});

describe('a wait at a condition', () => {
  async function scene() {
    const mutex = new Mutex();
    const condition = new Condition(mutex);
    const lock = await mutex.lock({ owner: 'waiter' });
    return { mutex, condition, lock };
  }

  test('continues, is notified by a request that waited, and holds the lock again', async () => {
    const { mutex, condition, lock } = await scene();
    const request = mutex.lock();
    const wait = condition.wait(lock);
    const end = mutex.shutdown();
    const notifier = await request;
    condition.notify();
    notifier.release();
    await wait;
    mutex.assertHeldBy(lock);
    expect([mutex.owner, await isSettled(end)]).toEqual(['waiter', false]);
    lock.release();
    await end;
  });

  test('acquires the lock again when it gives up', async () => {
    const { mutex, condition, lock } = await scene();
    const request = mutex.lock();
    const controller = new AbortController();
    const wait = condition.wait(lock, { signal: controller.signal });
    const end = mutex.shutdown();
    controller.abort('gone');
    (await request).release();
    await expect(wait).rejects.toBe('gone');
    mutex.assertHeldBy(lock);
    await expect(mutex.lock()).rejects.toThrow(ClosedError);
    lock.release();
    await end;
  });

  test('ends with the ClosedError once the lock is free and no request waits for it', async () => {
    const { mutex, condition, lock } = await scene();
    const request = mutex.lock();
    const wait = condition.wait(lock, { timeout: 60_000 });
    const end = mutex.shutdown();
    expect(await isSettled(wait)).toBe(false);
    (await request).release();
    await expect(wait).rejects.toThrow(ClosedError);
    expect([lock.released, condition.waiting, mutex.locked]).toEqual([true, 0, false]);
    await end;
  });

  test('ends at once if the lock is already free, or the wait releases it', async () => {
    const free = await scene();
    const wait = free.condition.wait(free.lock);
    const end = free.mutex.shutdown();
    await expect(wait).rejects.toThrow(ClosedError);
    await end;

    const held = await scene();
    const heldEnd = held.mutex.shutdown();
    const waitFor = held.condition.waitFor(held.lock, () => false);
    await expect(waitFor).rejects.toThrow(ClosedError);
    expect(held.lock.released).toBe(true);
    await heldEnd;
  });

  test('ends with the reason of a later close', async () => {
    const { mutex, condition, lock } = await scene();
    const waits = [condition.wait(lock)];
    const second = await mutex.lock();
    const notified = mutex.lock();
    waits.push(condition.wait(second));
    condition.notify();
    const end = mutex.shutdown();
    mutex.close('enough');
    for (const wait of waits) await expect(wait).rejects.toBe('enough');
    expect([lock.released, second.released]).toEqual([true, true]);
    (await notified).release();
    await end;
  });
});
