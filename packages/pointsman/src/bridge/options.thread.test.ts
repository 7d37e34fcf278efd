/** `with`: a timeout and a signal cancel a call without affecting later calls. */
import { describe, expect, test, vi } from 'vitest';
import { bridged, ringSizes, useBridge } from '../../tests/bridge/threads.js';
import { TimeoutError } from '../sync/errors.js';

function makeApi() {
  let held: ((value: unknown) => void)[] = [];
  const called: unknown[] = [];
  return {
    add: (a: number, b: number) => a + b,
    /** Resolves when `release` is called, with `size` bytes. */
    hold: (id: number, size = 0) =>
      new Promise((resolve) => {
        called.push(id);
        held.push(() => resolve({ id, bytes: new Uint8Array(size).fill(id) }));
      }),
    release() {
      const now = held;
      held = [];
      for (const answer of now) answer(undefined);
      return now.length;
    },
    echo: (id: number, bytes?: Uint8Array) => ({ id, bytes }),
    called: () => called.splice(0),
    /** Resolves in a later turn of the event loop, so a blocked caller sleeps. */
    later: () => new Promise((resolve) => setTimeout(resolve, 1, 'later')),
  };
}

describe.each(ringSizes)('%s', (_, config) => {
  const all = useBridge(makeApi(), {
    ...config,
    serve: ({ kept }) => ({
      hold: (id: number) =>
        new Promise((resolve) => {
          kept.answer = () => resolve(id);
        }),
      release: () => (kept.answer as () => void)(),
      double: (n: number) => 2 * n,
    }),
  });

  test('a blocking call times out with its name', async () => {
    const caught = await all.run(async ({ host, caught }) => [
      await caught(() => host.with({ timeout: 5 }).hold(1)),
      await caught(() => host.with({ timeout: 0.5 }).hold(2)),
      await caught(() => host.with({ timeout: 5 }).batch((h) => [h.add(1, 1), h.hold(3)])),
      host.with({ timeout: 10_000 }).add(1, 2),
      host.release(),
    ]);
    expect(caught).toMatchObject([
      { name: 'TimeoutError', message: 'hold() had no answer within 5 ms', call: 'hold' },
      { name: 'TimeoutError', message: 'hold() had no answer within 0.5 ms' },
      { name: 'TimeoutError', message: expect.stringMatching(/add, hold.* within 5 ms/) },
      3,
      3,
    ]);
  });

  test('an asynchronous call times out with its name', async () => {
    const caught = await all.run(async ({ host, caught }) => [
      await caught(() => host.with({ timeout: 5 }).async.hold(1)),
      await caught(() => host.with({ timeout: 0.5 }).async.hold(2)),
      await caught(() => host.with({ timeout: 5 }).async.batch((h) => [h.hold(3), h.add(1, 1)])),
      await host.with({ timeout: 10_000 }).async.add(1, 2),
      host.release(),
    ]);
    const hold = { name: 'TimeoutError', call: 'hold' };
    expect(caught).toMatchObject([hold, hold, hold, 3, 3]);
  });

  test('a call with a timeout of 0 is not sent', async () => {
    await all.run(({ host }) => host.called());
    const caught = await all.run(async ({ host, caught }) => {
      const view = host.with({ timeout: 0 });
      return [
        await caught(() => view.hold(1)),
        await caught(() => view.async.hold(2)),
        await caught(() => view.batch((h) => [h.add(1, 1), h.hold(3)])),
        await caught(() => view.async.batch((h) => [h.hold(4)])),
      ];
    });
    const { bridge } = all;
    const hold = {
      name: 'TimeoutError',
      message: 'hold() had no answer within 0 ms',
      call: 'hold',
    };
    const batch = expect.stringMatching(/add, hold.* within 0 ms/);
    expect(caught).toMatchObject([hold, hold, { message: batch }, hold]);
    expect(await all.run(({ host }) => host.called())).toEqual([]);
    await expect(bridge.with({ timeout: 0 }).double(1)).rejects.toMatchObject({
      name: 'TimeoutError',
      call: 'double',
    });
    expect(await bridge.worker.double(1)).toBe(2);
  });

  test.each([Number.POSITIVE_INFINITY, 2 ** 31, Number.MAX_VALUE])(
    'a timeout of %d does not fire early',
    async (timeout) => {
      const answers = await all.run(async ({ host }, timeout) => {
        const view = host.with({ timeout });
        // The platform's timers fire at once if they are too long.
        const call = view.async.hold(1);
        for (let turns = 0; turns < 20; turns++)
          await new Promise((resolve) => setTimeout(resolve));
        return [host.release(), (await call) as { id: number }, view.add(1, 2), view.later()];
      }, timeout);
      expect(answers).toMatchObject([1, { id: 1 }, 3, 'later']);
      const call = all.bridge.with({ timeout }).hold(7);
      await all.bridge.worker.double(1);
      await all.bridge.worker.release();
      expect(await call).toBe(7);
      await all.run(({ host }) => host.called());
    },
  );

  test('a signal may come from another realm or library', async () => {
    const caught = await all.run(async ({ host, caught }) => {
      const listeners = new Set<() => void>();
      const signal = {
        aborted: false,
        reason: undefined as unknown,
        addEventListener: (_: string, listener: () => void) => listeners.add(listener),
        removeEventListener: (_: string, listener: () => void) => listeners.delete(listener),
      };
      const view = host.with({ signal: signal as never });
      const answers: unknown[] = [view.add(1, 2), await view.async.add(3, 4), listeners.size];
      const call = caught(() => view.async.hold(1));
      signal.aborted = true;
      signal.reason = new RangeError('foreign');
      for (const listener of listeners) listener();
      answers.push((await call).message, listeners.size);
      answers.push((await caught(() => view.add(1, 2))).message);
      answers.push((await caught(() => view.batch((calls) => [calls.add(1, 2)]))).message);
      answers.push((await caught(() => view.async.add(1, 2))).message);
      answers.push(host.release(), host.called().length);
      return answers;
    });
    expect(caught).toEqual([3, 7, 0, 'foreign', 0, 'foreign', 'foreign', 'foreign', 1, 1]);
  });

  test('late replies are dropped, and later calls get their own', async () => {
    const wrong = await all.run(async ({ host, caught }) => {
      const wrong: unknown[] = [];
      for (let id = 1; id <= 25; id++) {
        const size = id * 300;
        const late =
          id % 2
            ? await caught(() => host.with({ timeout: 1 }).hold(id, size))
            : await caught(() => host.with({ timeout: 1 }).async.hold(id, size));
        if (late.name !== 'TimeoutError') wrong.push(late);
        const next = host.async.echo(id + 100, new Uint8Array(size).fill(1));
        if (host.release() !== 1) wrong.push('release');
        const answer = host.echo(id + 200, new Uint8Array(size).fill(2));
        if (answer.id !== id + 200 || answer.bytes?.at(-1) !== 2) wrong.push(answer);
        const other = await next;
        if (other.id !== id + 100 || other.bytes?.at(-1) !== 1) wrong.push(other);
        const both = host.batch((calls) => [calls.add(id, 1), calls.add(id, 2)]);
        if (both[0] !== id + 1 || both[1] !== id + 2) wrong.push(both);
      }
      return wrong;
    });
    expect(wrong).toEqual([]);
    await all.run(({ host }) => host.called());
  });

  test('with an aborted signal nothing is called', async () => {
    const caught = await all.run(async ({ host, caught }) => {
      const signal = AbortSignal.abort(new RangeError('before'));
      const view = host.with({ signal });
      return [
        await caught(() => view.hold(1)),
        await caught(() => view.async.hold(2)),
        await caught(() => view.batch((h) => [h.hold(3)])),
        await caught(() => view.async.batch((h) => [h.hold(4)])),
      ];
    });
    const before = { name: 'RangeError', message: 'before' };
    expect(caught).toMatchObject([before, before, before, before]);
    expect(await all.run(({ host }) => host.called())).toEqual([]);
  });

  test('a signal that aborts during the call or after it', async () => {
    const caught = await all.run(async ({ host, caught }) => {
      const controller = new AbortController();
      const view = host.with({ signal: controller.signal });
      const answer = await view.async.add(1, 2);
      const call = view.async.hold(5);
      await host.async.add(0, 0);
      controller.abort('meanwhile');
      let reason: unknown;
      await call.catch((error: unknown) => {
        reason = error;
      });
      return [
        answer,
        reason,
        host.release(),
        host.add(1, 1),
        (await caught(() => view.add(1, 1))).name,
      ];
    });
    expect(caught).toEqual([3, 'meanwhile', 1, 2, 'no error']);
  });

  test('no listener and no timer remains after a call', async () => {
    const counts = await all.run(async ({ host, caught }) => {
      const listeners: unknown[] = [];
      const timers = new Set<unknown>();
      const { setTimeout: set, clearTimeout: clear } = globalThis;
      Object.assign(globalThis, {
        setTimeout: (callback: () => void, time: number) => {
          const timer = set(() => {
            timers.delete(timer);
            callback();
          }, time);
          timers.add(timer);
          return timer;
        },
        clearTimeout: (timer: never) => {
          timers.delete(timer);
          clear(timer);
        },
      });
      try {
        const controller = new AbortController();
        const { signal } = controller;
        const { addEventListener, removeEventListener } = signal;
        let max = 0;
        signal.addEventListener = (type: string, listener: never) => {
          max = Math.max(max, listeners.push(listener));
          addEventListener.call(signal, type, listener);
        };
        signal.removeEventListener = (type: string, listener: never) => {
          listeners.splice(listeners.indexOf(listener), 1);
          removeEventListener.call(signal, type, listener);
        };
        const view = host.with({ signal, timeout: 1_000_000 });
        await view.async.add(1, 1);
        await caught(() => view.async.echo(Symbol() as never));
        await caught(() => host.with({ signal, timeout: 1 }).async.hold(1));
        const call = view.async.hold(2);
        const during = [max, timers.size];
        controller.abort();
        await caught(() => call);
        host.release();
        return [during, listeners.length, timers.size];
      } finally {
        Object.assign(globalThis, { setTimeout: set, clearTimeout: clear });
      }
    });
    expect(counts).toEqual([[1, 1], 0, 0]);
  });

  test('nested options are merged', async () => {
    const caught = await all.run(async ({ host, caught }) => {
      const signal = AbortSignal.abort('both');
      const view = host.with({ timeout: 5 }).with({ signal: new AbortController().signal });
      return [
        (await caught(() => view.hold(1))).name,
        (await caught(() => view.with({ signal }).add(1, 1))).message,
        view.with({ timeout: undefined }).add(1, 1),
        host.release(),
      ];
    });
    expect(caught).toEqual(['TimeoutError', 'string "both"', 2, 1]);
  });

  test('timeout and signal in the host', async () => {
    const { bridge } = all;
    const worker = bridge.with({ timeout: 5 });
    const error = await worker.hold(1).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ message: 'hold() had no answer within 5 ms', call: 'hold' });
    await bridge.worker.release();
    const controller = new AbortController();
    const call = bridge.with({ signal: controller.signal }).hold(2);
    controller.abort('stop');
    await expect(call).rejects.toBe('stop');
    await bridge.worker.release();
    expect(await bridge.worker.double(4)).toBe(8);
    await expect(bridge.with({ signal: AbortSignal.abort('no') }).double(1)).rejects.toBe('no');
  });
});

test('the reply clears the timer of the timeout', async () => {
  const { bridge } = await bridged({}, { serve: () => ({ double: (n: number) => 2 * n }) });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const answer = bridge.with({ timeout: 1_000 }).double(2);
    expect(vi.getTimerCount()).toBe(1);
    expect(await answer).toBe(4);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test('a call that waits for space times out, and waiting frames are sent afterwards', async () => {
  const state = new Int32Array(new SharedArrayBuffer(8));
  const { run } = await bridged(
    {
      /** Blocks the host's event loop until the worker sets the flag. */
      busy() {
        Atomics.store(state, 0, 1);
        const end = performance.now() + 10_000;
        while (Atomics.load(state, 1) === 0 && performance.now() < end);
      },
      length: (bytes: Uint8Array) => bytes.length,
    },
    { bufferSize: 4096 },
  );
  const answers = await run(async ({ host, caught }, state) => {
    const turn = () => new Promise((resolve) => setTimeout(resolve, 1));
    host.send.busy();
    while (Atomics.load(state, 0) === 0) await turn();
    // Only one call: the reply to another would also send the rest of this one.
    const call = host.async.length(new Uint8Array(50_000));
    await turn();
    const { name } = await caught(() => host.with({ timeout: 20 }).length(new Uint8Array(3_001)));
    await turn();
    Atomics.store(state, 1, 1);
    return [name, await call, await host.async.length(new Uint8Array(5_000))];
  }, state);
  expect(answers).toEqual(['TimeoutError', 50_000, 5_000]);
});

test('a getter of an argument that aborts the signal cancels the call', async () => {
  const { run } = await bridged({ never: (_: unknown) => new Promise<never>(() => {}) });
  const caught = await run(async ({ host, caught }) => {
    const controller = new AbortController();
    const aborting = {
      get value() {
        controller.abort(new RangeError('by the getter'));
        return 1;
      },
    };
    return caught(() => host.with({ signal: controller.signal }).async.never(aborting));
  });
  expect(caught).toMatchObject({ name: 'RangeError', message: 'by the getter' });
});
