/**
 * Giving up, by a signal or a timeout, at every point and in every place of the queue: the waiter
 * leaves at once, the others keep their places, nothing is lost, and no timer stays behind.
 */
import { nextMacrotask } from '@pointsman/spec';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  type AcquireOptions,
  KeyedMutex,
  type Permit,
  Semaphore,
  TimeoutError,
  type WaitOptions,
} from '../index.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A way to give up: the options that a request takes with it, and what makes it happen. */
interface Exit {
  readonly options: WaitOptions;
  readonly leave: () => void;
  readonly isReason: (error: unknown) => boolean;
}

const ways: [name: string, create: () => Exit][] = [
  [
    'abort',
    () => {
      const controller = new AbortController();
      const reason = new Error('no longer wanted');
      return {
        options: { signal: controller.signal },
        leave: () => controller.abort(reason),
        isReason: (error) => error === reason,
      };
    },
  ],
  [
    'timeout',
    () => ({
      options: { timeout: 1_000 },
      leave: () => vi.advanceTimersByTime(1_000),
      isReason: (error) => error instanceof TimeoutError,
    }),
  ],
];

describe.each(ways)('%s', (_, createExit) => {
  test.each([
    ['the only one', [], []],
    ['the first', [], ['b', 'c']],
    ['one in the middle', ['a'], ['c']],
    ['the last', ['a', 'b'], []],
  ])('of %s', async (_, before, behind) => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const granted: string[] = [];
    const enter = (name: string) =>
      semaphore.acquire().then((permit) => {
        granted.push(name);
        permit.release();
      });
    for (const name of before) void enter(name);
    const exit = createExit();
    const leaver = semaphore.acquire(exit.options);
    for (const name of behind) void enter(name);
    const others = before.length + behind.length;
    expect(semaphore.waiting).toBe(others + 1);
    exit.leave();
    expect(semaphore.waiting).toBe(others);
    expect(semaphore.available).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
    expect(exit.isReason(await leaver.catch((error) => error))).toBe(true);
    void enter('late');
    held.release();
    await nextMacrotask();
    expect(granted).toEqual([...before, ...behind, 'late']);
    expect(semaphore.idle).toBe(true);
  });

  test('of all, one after the other', async () => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    for (const order of [
      [0, 1, 2],
      [0, 2, 1],
      [1, 0, 2],
      [1, 2, 0],
      [2, 0, 1],
      [2, 1, 0],
    ]) {
      const exits = order.map(createExit);
      const waiters = exits.map(({ options }, index) =>
        // Timeouts that are not due together, so that they can go in any order.
        semaphore.acquire('timeout' in options ? { timeout: order.indexOf(index) + 1 } : options),
      );
      for (const [step, index] of order.entries()) {
        if ('timeout' in (exits[index]?.options ?? {})) vi.advanceTimersByTime(1);
        else exits[index]?.leave();
        expect(semaphore.waiting).toBe(2 - step);
      }
      for (const [index, waiter] of waiters.entries()) {
        expect(exits[index]?.isReason(await waiter.catch((error) => error))).toBe(true);
      }
    }
    held.release();
    expect(semaphore.idle).toBe(true);
  });

  test('of a large request in front lets the small ones behind it in', async () => {
    const semaphore = new Semaphore(4);
    const held = await semaphore.acquire();
    const exit = createExit();
    const large = semaphore.acquire({ ...exit.options, permits: 4 });
    const small = [
      semaphore.acquire(),
      semaphore.acquire({ permits: 2 }),
      semaphore.acquire({ timeout: 60_000 }),
    ];
    expect(semaphore.available).toBe(3);
    exit.leave();
    expect(semaphore.available).toBe(0);
    expect(semaphore.waiting).toBe(1);
    expect(exit.isReason(await large.catch((error) => error))).toBe(true);
    expect((await small[0])?.permits).toBe(1);
    expect((await small[1])?.permits).toBe(2);
    held.release();
    expect((await small[2])?.permits).toBe(1);
  });

  test('of a large request behind another large one admits no request', async () => {
    const semaphore = new Semaphore(3);
    const held = await semaphore.acquire();
    const first = semaphore.acquire({ permits: 3 });
    const exit = createExit();
    const second = semaphore.acquire({ ...exit.options, permits: 2 });
    const small = semaphore.acquire();
    exit.leave();
    expect(exit.isReason(await second.catch((error) => error))).toBe(true);
    expect(semaphore.waiting).toBe(2);
    expect(semaphore.available).toBe(2);
    held.release();
    (await first).release();
    (await small).release();
    expect(semaphore.idle).toBe(true);
  });

  test('after the grant, in the same turn: the permit is kept', async () => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const exit = createExit();
    const granted = semaphore.acquire(exit.options);
    const next = semaphore.acquire();
    held.release();
    exit.leave();
    expect(semaphore.waiting).toBe(1);
    const permit = await granted;
    expect(permit.released).toBe(false);
    permit.release();
    (await next).release();
    expect(semaphore.idle).toBe(true);
  });

  test('before the release, in the same turn: the next one gets the permit', async () => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const exit = createExit();
    const leaver = semaphore.acquire(exit.options);
    const next = semaphore.acquire();
    exit.leave();
    held.release();
    expect(semaphore.waiting).toBe(0);
    expect(exit.isReason(await leaver.catch((error) => error))).toBe(true);
    (await next).release();
    expect(semaphore.idle).toBe(true);
  });

  test('before the release, with no waiter behind: the permit is free', async () => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const exit = createExit();
    const leaver = semaphore.acquire(exit.options);
    exit.leave();
    held.release();
    expect(semaphore.available).toBe(1);
    expect(exit.isReason(await leaver.catch((error) => error))).toBe(true);
    expect(semaphore.available).toBe(1);
  });

  test('after the permit was granted without waiting: no effect', async () => {
    const semaphore = new Semaphore(1);
    const exit = createExit();
    const permit = await semaphore.acquire(exit.options);
    expect(vi.getTimerCount()).toBe(0);
    exit.leave();
    expect(permit.released).toBe(false);
    expect(semaphore.available).toBe(0);
    permit.release();
    expect(semaphore.available).toBe(1);
  });

  test('after the close: no effect', async () => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const exit = createExit();
    const waiter = semaphore.acquire(exit.options);
    semaphore.close('closed');
    exit.leave();
    await expect(waiter).rejects.toBe('closed');
    expect(semaphore.waiting).toBe(0);
    held.release();
    expect(semaphore.idle).toBe(true);
  });

  test('of a drain', async () => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const exit = createExit();
    const drained: string[] = [];
    void semaphore.drain().then(() => drained.push('first'));
    const drain = semaphore.drain(exit.options);
    void semaphore.drain({ timeout: 60_000 }).then(() => drained.push('last'));
    exit.leave();
    expect(exit.isReason(await drain.catch((error) => error))).toBe(true);
    held.release();
    await nextMacrotask();
    expect(drained).toEqual(['first', 'last']);
    expect(vi.getTimerCount()).toBe(0);
  });
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
  test('that has aborted refuses at once, whether free or not', async () => {
    for (const reason of [new Error('why'), 'why', null, 0, false]) {
      const signal = AbortSignal.abort(reason);
      const semaphore = new Semaphore(1);
      for (const state of ['free', 'taken']) {
        const held = state === 'taken' ? semaphore.tryAcquire() : undefined;
        const available = semaphore.available;
        for (const refused of [
          semaphore.acquire({ signal }),
          semaphore.acquire({ signal, timeout: 0 }),
          semaphore.run(() => expect.unreachable('fn was called'), { signal }),
          semaphore.drain({ signal }),
        ]) {
          expect(semaphore.available).toBe(available);
          expect(semaphore.waiting).toBe(0);
          await expect(refused).rejects.toBe(reason);
        }
        held?.release();
      }
    }
  });

  test('that aborts without a reason gives an AbortError', async () => {
    const semaphore = new Semaphore(1);
    void semaphore.acquire();
    const controller = new AbortController();
    const waiter = semaphore.acquire({ signal: controller.signal });
    controller.abort();
    await expect(waiter).rejects.toMatchObject({ name: 'AbortError' });
    await expect(waiter).rejects.toBe(controller.signal.reason);
  });

  test('gives its reason, of any type', async () => {
    for (const reason of [new Error('why'), 'why', null, 0, false, '']) {
      const semaphore = new Semaphore(1);
      void semaphore.acquire();
      const controller = new AbortController();
      const waiter = semaphore.acquire({ signal: controller.signal });
      controller.abort(reason);
      await expect(waiter).rejects.toBe(reason);
    }
  });

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

  test('that aborts once the timeout has passed, and the other way round', async () => {
    const semaphore = new Semaphore(1);
    void semaphore.acquire();
    const controller = new AbortController();
    const options = { signal: controller.signal, timeout: 1_000 };
    const late = semaphore.acquire(options);
    vi.advanceTimersByTime(1_000);
    controller.abort('too late');
    await expect(late).rejects.toThrow(TimeoutError);
    const next = new AbortController();
    const soon = semaphore.acquire({ ...options, signal: next.signal });
    next.abort('in time');
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(1_000);
    await expect(soon).rejects.toBe('in time');
    expect(semaphore.waiting).toBe(0);
  });

  test('that throws in addEventListener refuses the request, and the queue stays empty', async () => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const error = new Error('from the signal');
    const signal = {
      aborted: false,
      addEventListener() {
        throw error;
      },
      removeEventListener() {},
    } as unknown as AbortSignal;
    await expect(semaphore.acquire({ signal, timeout: 1_000 })).rejects.toBe(error);
    expect(semaphore.waiting).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
    held.release();
    expect(semaphore.available).toBe(1);
    expect((await semaphore.acquire({ signal })).released).toBe(false);
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

describe('a timeout', () => {
  test('says how long it was', async () => {
    const semaphore = new Semaphore(1);
    void semaphore.acquire();
    const waiter = semaphore.acquire({ timeout: 250 });
    vi.advanceTimersByTime(249);
    expect(semaphore.waiting).toBe(1);
    vi.advanceTimersByTime(1);
    expect(semaphore.waiting).toBe(0);
    const error = await waiter.catch((error) => error);
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toBeInstanceOf(Error);
    expect(error.name).toBe('TimeoutError');
    expect(error.message).toMatch(/\b250 ms\b/);
  });

  test('of 0 gets what is free, and waits for nothing', async () => {
    const semaphore = new Semaphore(2);
    const held = await semaphore.acquire({ timeout: 0 });
    const waiter = semaphore.acquire({ permits: 2 });
    const refused = semaphore.acquire({ timeout: 0 });
    expect(semaphore.waiting).toBe(1);
    expect(semaphore.available).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
    await expect(refused).rejects.toThrow(/\b0 ms\b/);
    await expect(semaphore.run(() => 'never', { timeout: 0 })).rejects.toThrow(TimeoutError);
    await expect(semaphore.drain({ timeout: 0 })).rejects.toThrow(TimeoutError);
    held.release();
    (await waiter).release();
    expect(await semaphore.run(() => 'ran', { timeout: 0 })).toBe('ran');
    expect(semaphore.idle).toBe(true);
  });

  test('of many waiters: each goes when it is due', async () => {
    const semaphore = new Semaphore(1);
    void semaphore.acquire();
    const gone: number[] = [];
    for (const timeout of [30, 10, 20, 10]) {
      void semaphore.acquire({ timeout }).catch(() => gone.push(timeout));
    }
    for (const waiting of [2, 1, 0]) {
      vi.advanceTimersByTime(10);
      expect(semaphore.waiting).toBe(waiting);
    }
    await nextMacrotask();
    expect(gone).toEqual([10, 10, 20, 30]);
  });

  test('whose timer fires after the wait has ended does nothing', async () => {
    // In workerd, where the permit comes from another request, that request cannot stop the timer.
    vi.spyOn(globalThis, 'clearTimeout').mockImplementation(() => {});
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const granted = semaphore.acquire({ timeout: 100 });
    held.release();
    const permit = await granted;
    const waiters = [semaphore.acquire(), semaphore.acquire({ timeout: 200 }), semaphore.acquire()];
    const drain = semaphore.drain({ timeout: 100 });
    vi.advanceTimersByTime(100);
    expect(semaphore.waiting).toBe(3);
    await expect(drain).rejects.toThrow(TimeoutError);
    permit.release();
    for (const waiter of waiters) (await waiter).release();
    vi.advanceTimersByTime(100);
    expect(semaphore.waiting).toBe(0);
    expect(semaphore.available).toBe(1);
    (await semaphore.acquire()).release();
  });
});

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
        const controllers = row.map(() => new AbortController());
        const granted: number[] = [];
        for (const [index, kind] of row.entries()) {
          const options = kinds[kind];
          const signal = leavers.includes(index) ? controllers[index]?.signal : undefined;
          void semaphore.acquire(options && { ...options, signal }).then(
            (permit) => {
              granted.push(index);
              permit.release();
            },
            () => {},
          );
        }
        for (const index of departures) controllers[index]?.abort();
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
