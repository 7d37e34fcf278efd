/** A signal that many waiters share, and what its listeners do while it aborts. */
import { nextMacrotask } from '@pointsman/spec';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { KeyedMutex, type Permit, Semaphore, TimeoutError } from '../index.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A signal that is not the platform's, and counts its listeners and how often they change. */
function createSignal() {
  const listeners = new Set<() => void>();
  const counted = {
    listeners,
    calls: 0,
    abort(reason: unknown) {
      Object.assign(signal, { aborted: true, reason });
      for (const listener of listeners) listener();
    },
    signal: {} as AbortSignal,
  };
  const signal = Object.assign(counted.signal, {
    aborted: false,
    addEventListener(_: string, listener: () => void) {
      counted.calls++;
      listeners.add(listener);
    },
    removeEventListener(_: string, listener: () => void) {
      counted.calls++;
      listeners.delete(listener);
    },
  });
  return counted;
}

describe('a signal', () => {
  test('of many waiters rejects these waiters, and no others', async () => {
    const semaphore = new Semaphore(2);
    const held = await semaphore.acquire({ permits: 2 });
    const controller = new AbortController();
    const granted: number[] = [];
    const aborted: number[] = [];
    for (let n = 0; n < 12; n++) {
      const options = n % 3 === 0 ? [] : [{ signal: controller.signal, permits: 1 + (n % 2) }];
      void semaphore.acquire(...options).then(
        (permit) => {
          granted.push(n);
          permit.release();
        },
        () => aborted.push(n),
      );
    }
    controller.abort();
    expect(semaphore.waiting).toBe(4);
    held.release();
    await nextMacrotask();
    expect(aborted).toEqual([1, 2, 4, 5, 7, 8, 10, 11]);
    expect(granted).toEqual([0, 3, 6, 9]);
    expect(semaphore.idle).toBe(true);
  });

  test('that throws in removeEventListener: waits settle, and later aborts take effect', async () => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const { signal, abort, listeners } = createSignal();
    signal.removeEventListener = () => {
      throw new Error('from the signal');
    };
    const first = semaphore.acquire({ signal });
    expect(held.release).not.toThrow();
    const permit = await first;
    const second = semaphore.acquire({ signal, timeout: 1_000 });
    expect(listeners.size).toBe(1);
    vi.advanceTimersByTime(1_000);
    await expect(second).rejects.toThrow(TimeoutError);
    const third = semaphore.acquire({ signal });
    abort('aborted');
    await expect(third).rejects.toBe('aborted');
    permit.release();
    expect(semaphore.idle).toBe(true);
  });

  test('has one listener for any number of waiters, and none without waiters', async () => {
    const semaphore = new Semaphore(1);
    const mutex = new KeyedMutex<number>();
    const held = [await semaphore.acquire(), await mutex.lock(1)];
    const counted = createSignal();
    const { signal, abort, listeners } = counted;
    const crowd = () =>
      Array.from({ length: 20_000 }, () => [
        semaphore.acquire({ signal }),
        mutex.lock(1, { signal }),
      ]).flat();
    const served = Promise.all(crowd().map((wait) => wait.then((permit) => permit.release())));
    expect(listeners.size).toBe(1);
    for (const permit of held) permit.release();
    await served;
    expect(listeners.size).toBe(0);
    expect(counted.calls).toBe(2);
    held.push(await semaphore.acquire(), await mutex.lock(1));
    const gone = Promise.allSettled(crowd());
    expect(counted.calls).toBe(3);
    abort('aborted');
    expect([listeners.size, counted.calls]).toEqual([0, 4]);
    expect([semaphore.waiting, mutex.waitingFor(1)]).toEqual([0, 0]);
    expect(new Set((await gone).map((result) => 'reason' in result && result.reason))).toEqual(
      new Set(['aborted']),
    );
  });

  test('of a timeout of the platform is a TimeoutError by name', async () => {
    const semaphore = new Semaphore(1);
    void semaphore.acquire();
    const error = await semaphore
      .acquire({ signal: AbortSignal.timeout(1) })
      .catch((error) => error);
    expect(error.name).toBe('TimeoutError');
  });
});

describe('what a listener of the signal may do while it aborts', () => {
  /** A holder, a waiter whose signal has a listener that was there before the waiter, and another. */
  async function create(listener: (held: Permit, semaphore: Semaphore) => void) {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const controller = new AbortController();
    controller.signal.addEventListener('abort', () => listener(held, semaphore));
    const waiter = semaphore.acquire({ signal: controller.signal });
    const next = semaphore.acquire();
    const log: string[] = [];
    void waiter.then(
      (permit) => {
        log.push('waiter');
        permit.release();
      },
      (error) => log.push(`waiter: ${error}`),
    );
    void next.then(
      (permit) => {
        log.push('next');
        permit.release();
      },
      (error) => log.push(`next: ${error}`),
    );
    controller.abort('aborted');
    return { semaphore, held, log };
  }

  test('release: a waiter whose signal has aborted is passed over', async () => {
    const { semaphore, log } = await create((held) => held.release());
    await nextMacrotask();
    expect(log).toEqual(['next', 'waiter: aborted']);
    expect(semaphore.idle).toBe(true);
  });

  test('release the last permit: a drain whose signal has aborted is not over', async () => {
    const semaphore = new Semaphore(1);
    const keyed = new KeyedMutex<string>();
    const held = [await semaphore.acquire(), await keyed.lock('key')];
    const controller = new AbortController();
    const { signal } = controller;
    signal.addEventListener('abort', () => {
      for (const permit of held) permit.release();
    });
    const drains = [semaphore.drain({ signal }), keyed.drain({ signal })];
    const others = [semaphore.drain(), keyed.drain({ timeout: 1_000 })];
    controller.abort('aborted');
    for (const drain of drains) await expect(drain).rejects.toBe('aborted');
    await Promise.all(others);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('close', async () => {
    const { semaphore, held, log } = await create((_, semaphore) => semaphore.close('closed'));
    await nextMacrotask();
    expect(log).toEqual(['waiter: closed', 'next: closed']);
    held.release();
    expect(semaphore.idle).toBe(true);
  });

  test('acquire', async () => {
    const granted: string[] = [];
    const { held, log } = await create((_, semaphore) => {
      void semaphore.acquire().then(() => granted.push('new'));
      void semaphore.acquire({ priority: 1 }).then((permit) => {
        granted.push('urgent');
        permit.release();
      });
    });
    held.release();
    await nextMacrotask();
    expect(log.sort()).toEqual(['next', 'waiter: aborted']);
    expect(granted).toEqual(['urgent', 'new']);
  });

  test('raise the limit', async () => {
    const { held, semaphore, log } = await create((_, semaphore) => {
      semaphore.limit = 2;
    });
    await nextMacrotask();
    expect(log).toEqual(['next', 'waiter: aborted']);
    held.release();
    expect(semaphore.available).toBe(2);
  });

  test('one signal for all: the departure of the first does not admit those behind it', async () => {
    const semaphore = new Semaphore(3);
    const held = await semaphore.acquire();
    const controller = new AbortController();
    const { signal } = controller;
    const waiters = [semaphore.acquire({ permits: 3, signal }), semaphore.acquire({ signal })];
    const drained = semaphore.drain();
    controller.abort('aborted');
    expect(semaphore.available).toBe(2);
    const results = await Promise.allSettled(waiters);
    expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected']);
    held.release();
    await drained;
    expect(semaphore.idle).toBe(true);
  });

  test('one signal for all: a release while it aborts leaves no waiter', async () => {
    const locks = new KeyedMutex<string>();
    const controller = new AbortController();
    const { signal } = controller;
    const held = await locks.lock('key');
    signal.addEventListener('abort', () => held.release());
    const waiters = [locks.lock('key', { signal }), locks.lock('key', { signal })];
    const drained = locks.drain();
    controller.abort('aborted');
    expect(locks.keyCount).toBe(0);
    await drained;
    const results = await Promise.allSettled(waiters);
    expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected']);
  });

  test('admit a waiter of the same signal, and wait on it again', async () => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const { signal, abort, listeners } = createSignal();
    const drain = semaphore.drain({ signal });
    const controller = new AbortController();
    const waiter = semaphore.acquire({ signal: controller.signal });
    // The departure of the first waiter admits the second one.
    const large = new Semaphore(2);
    const all = await large.acquire();
    const told = [large.acquire({ permits: 2, signal }), large.acquire({ signal })];
    Object.defineProperty(signal, 'aborted', { get: () => false, set() {} });
    abort('aborted');
    await expect(told[0]).rejects.toBe('aborted');
    // This signal denies that it has aborted, so the departure of the first admitted the second.
    (await told[1])?.release();
    await expect(drain).rejects.toBe('aborted');
    expect(listeners.size).toBe(0);
    all.release();
    controller.abort('later');
    await expect(waiter).rejects.toBe('later');
    const again = semaphore.acquire({ signal });
    abort('again');
    await expect(again).rejects.toBe('again');
    held.release();
    expect([semaphore.idle, large.idle]).toEqual([true, true]);
  });

  test('abort another signal', async () => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const controllers = [0, 1, 2].map(() => new AbortController());
    controllers[1]?.signal.addEventListener('abort', () => {
      controllers[0]?.abort('second hand');
      controllers[2]?.abort('second hand');
    });
    const waiters = controllers.map(({ signal }) => semaphore.acquire({ signal }));
    const last = semaphore.acquire();
    controllers[1]?.abort('first hand');
    expect(semaphore.waiting).toBe(1);
    await expect(waiters[0]).rejects.toBe('second hand');
    await expect(waiters[1]).rejects.toBe('first hand');
    await expect(waiters[2]).rejects.toBe('second hand');
    held.release();
    (await last).release();
    expect(semaphore.idle).toBe(true);
  });
});
