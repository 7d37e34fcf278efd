/**
 * Giving up, by a signal or a timeout, at every point and in every place of the queue: the waiter
 * leaves at once, the others keep their places, nothing is lost, and no timer stays behind.
 */
import { nextMacrotask } from '@pointsman/spec';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Semaphore, TimeoutError, type WaitOptions } from '../index.js';
import { holders } from './holders.js';
import { waits, waitsWith } from './waits.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const reasons = [new Error('why'), 'why', null, 0, false, ''];

describe.each(Object.entries(waits))('%s', (_, create) => {
  test('with a signal that has aborted is refused at once with its reason, of any type', async () => {
    for (const reason of reasons) {
      const signal = AbortSignal.abort(reason);
      const { start, waiting } = create(1);
      for (const options of [{ signal }, { signal, timeout: 0 }]) {
        const refused = start(options);
        expect(waiting?.() ?? 0).toBe(0);
        await expect(refused).rejects.toBe(reason);
      }
    }
  });

  test('that is aborted rejects with the reason of the signal, of any type', async () => {
    for (const reason of reasons) {
      const controller = new AbortController();
      const wait = create(1).start({ signal: controller.signal });
      controller.abort(reason);
      await expect(wait).rejects.toBe(reason);
    }
  });

  test('that is aborted without a reason rejects with an AbortError', async () => {
    const controller = new AbortController();
    const wait = create(1).start({ signal: controller.signal });
    controller.abort();
    await expect(wait).rejects.toMatchObject({ name: 'AbortError' });
    await expect(wait).rejects.toBe(controller.signal.reason);
  });

  test('that is aborted once its timeout has passed, and the other way round', async () => {
    const { start } = create(2);
    const [early, late] = [new AbortController(), new AbortController()];
    const timed = start({ signal: late.signal, timeout: 1_000 });
    vi.advanceTimersByTime(1_000);
    late.abort('too late');
    await expect(timed).rejects.toThrow(TimeoutError);
    const aborted = start({ signal: early.signal, timeout: 1_000 });
    early.abort('in time');
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(1_000);
    await expect(aborted).rejects.toBe('in time');
  });

  test('whose signal throws in addEventListener rejects with the error', async () => {
    const { start, waiting } = create(1);
    const error = new Error('from the signal');
    const signal = {
      aborted: false,
      addEventListener() {
        throw error;
      },
      removeEventListener() {},
    } as unknown as AbortSignal;
    await expect(start({ signal, timeout: 1_000 })).rejects.toBe(error);
    expect([waiting?.() ?? 0, vi.getTimerCount()]).toEqual([0, 0]);
  });

  test('that times out says how long the timeout was', async () => {
    const { start } = create(1);
    const errors: unknown[] = [];
    void start({ timeout: 250 }).catch((error) => errors.push(error));
    await nextMacrotask();
    vi.advanceTimersByTime(249);
    await nextMacrotask();
    expect(errors).toEqual([]);
    vi.advanceTimersByTime(1);
    await nextMacrotask();
    expect(errors).toEqual([expect.any(TimeoutError)]);
    expect(errors[0]).toBeInstanceOf(Error);
    expect(errors[0]).toMatchObject({
      name: 'TimeoutError',
      message: expect.stringMatching(/\b250 ms\b/),
    });
  });

  test('with a timeout of 0 does not wait', async () => {
    const { start, waiting } = create(1);
    const refused = start({ timeout: 0 });
    // An asynchronous source and the cases of a `select` get one turn of the event loop.
    vi.advanceTimersByTime(0);
    expect([waiting?.() ?? 0, vi.getTimerCount()]).toEqual([0, 0]);
    await expect(refused).rejects.toThrow(TimeoutError);
    await expect(refused).rejects.toThrow(/\b0 ms\b/);
  });
});

describe.each(waitsWith('waiting'))('many of %s', (_, create) => {
  test('with timeouts: each leaves when it is due', async () => {
    const { start, waiting } = create(4);
    const gone: number[] = [];
    for (const timeout of [30, 10, 20, 10]) {
      void start({ timeout }).catch(() => gone.push(timeout));
    }
    // A wait at a condition starts when its lock is granted.
    await nextMacrotask();
    for (const left of [2, 1, 0]) {
      vi.advanceTimersByTime(10);
      expect(waiting()).toBe(left);
    }
    await nextMacrotask();
    expect(gone).toEqual([10, 10, 20, 30]);
  });
});

describe.each(waitsWith('free'))('%s, that need not wait,', (_, create) => {
  test('is refused with a signal that has aborted, and uses up nothing', async () => {
    const { start, free } = create(1);
    free();
    for (const reason of reasons) {
      await expect(start({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    }
    await start({ timeout: 0 });
  });

  test('takes no timer', async () => {
    const { start, free } = create(1);
    free();
    const end = start({ timeout: 1_000, signal: new AbortController().signal });
    await end;
    expect(vi.getTimerCount()).toBe(0);
  });
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
  describe.each(Object.entries(holders))('of a request to a %s', (_, create) => {
    test.each([
      ['the only one', [], []],
      ['the first', [], ['b', 'c']],
      ['one in the middle', ['a'], ['c']],
      ['the last', ['a', 'b'], []],
    ])('%s: the others keep their places', async (_, before, behind) => {
      const { object, request, waiting } = create();
      const held = await request();
      const granted: string[] = [];
      const enter = (name: string) =>
        request().then((permit) => {
          granted.push(name);
          permit.release();
        });
      for (const name of before) void enter(name);
      const exit = createExit();
      const leaver = request(exit.options);
      for (const name of behind) void enter(name);
      const others = before.length + behind.length;
      expect(waiting()).toBe(others + 1);
      exit.leave();
      expect([waiting(), held.released, vi.getTimerCount()]).toEqual([others, false, 0]);
      expect(exit.isReason(await leaver.catch((error) => error))).toBe(true);
      void enter('late');
      held.release();
      await nextMacrotask();
      expect(granted).toEqual([...before, ...behind, 'late']);
      await object.drain({ timeout: 0 });
    });

    test('all, one after the other', async () => {
      const { object, request, waiting } = create();
      const held = await request();
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
          request('timeout' in options ? { timeout: order.indexOf(index) + 1 } : options),
        );
        for (const [step, index] of order.entries()) {
          if ('timeout' in (exits[index]?.options ?? {})) vi.advanceTimersByTime(1);
          else exits[index]?.leave();
          expect(waiting()).toBe(2 - step);
        }
        for (const [index, waiter] of waiters.entries()) {
          expect(exits[index]?.isReason(await waiter.catch((error) => error))).toBe(true);
        }
      }
      held.release();
      await object.drain({ timeout: 0 });
    });

    test('after the grant, in the same step: the permit is kept', async () => {
      const { object, request, waiting } = create();
      const held = await request();
      const exit = createExit();
      const granted = request(exit.options);
      const next = request();
      held.release();
      exit.leave();
      expect(waiting()).toBe(1);
      const permit = await granted;
      expect(permit.released).toBe(false);
      permit.release();
      (await next).release();
      await object.drain({ timeout: 0 });
    });

    test('before the release, in the same step: the next request gets the permit', async () => {
      const { object, request, waiting } = create();
      const held = await request();
      const exit = createExit();
      const leaver = request(exit.options);
      const next = request();
      exit.leave();
      held.release();
      expect(waiting()).toBe(0);
      expect(exit.isReason(await leaver.catch((error) => error))).toBe(true);
      (await next).release();
      await object.drain({ timeout: 0 });
    });

    test('before the release, with no waiter behind: the permit is free', async () => {
      const { request, tries } = create();
      const held = await request();
      const exit = createExit();
      const leaver = request(exit.options);
      exit.leave();
      held.release();
      const permit = tries();
      expect([permit?.released, tries()]).toEqual([false, undefined]);
      permit?.release();
      expect(exit.isReason(await leaver.catch((error) => error))).toBe(true);
      expect(tries()?.released).toBe(false);
    });

    test('that was granted without waiting: no effect', async () => {
      const { request, tries } = create();
      const exit = createExit();
      const permit = await request(exit.options);
      expect(vi.getTimerCount()).toBe(0);
      exit.leave();
      expect([permit.released, tries()]).toEqual([false, undefined]);
      permit.release();
      expect(tries()?.released).toBe(false);
    });

    test('after the close: no effect', async () => {
      const { object, request, waiting } = create();
      const held = await request();
      const exit = createExit();
      const waiter = request(exit.options);
      object.close('closed');
      exit.leave();
      await expect(waiter).rejects.toBe('closed');
      expect(waiting()).toBe(0);
      held.release();
      await object.drain({ timeout: 0 });
    });

    test('drain: the other drains go on', async () => {
      const { object, request } = create();
      const held = await request();
      const exit = createExit();
      const drained: string[] = [];
      void object.drain().then(() => drained.push('first'));
      const drain = object.drain(exit.options);
      void object.drain({ timeout: 60_000 }).then(() => drained.push('last'));
      exit.leave();
      expect(exit.isReason(await drain.catch((error) => error))).toBe(true);
      held.release();
      await nextMacrotask();
      expect(drained).toEqual(['first', 'last']);
      expect(vi.getTimerCount()).toBe(0);
    });
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
});

test.each(Object.entries(holders))(
  '%s: a timer that fires after its wait has ended has no effect',
  async (_, create) => {
    // In workerd, where the permit comes from another request, that request cannot stop the timer.
    vi.spyOn(globalThis, 'clearTimeout').mockImplementation(() => {});
    const { object, request, waiting, tries } = create();
    const held = await request();
    const granted = request({ timeout: 100 });
    held.release();
    const permit = await granted;
    const waiters = [request(), request({ timeout: 200 }), request()];
    const drain = object.drain({ timeout: 100 });
    vi.advanceTimersByTime(100);
    expect(waiting()).toBe(3);
    await expect(drain).rejects.toThrow(TimeoutError);
    permit.release();
    for (const waiter of waiters) (await waiter).release();
    vi.advanceTimersByTime(100);
    expect(waiting()).toBe(0);
    tries()?.release();
    expect(tries()?.released).toBe(false);
  },
);
