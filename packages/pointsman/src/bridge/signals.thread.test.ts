/** Abort signals as arguments and results. */
import { expect, test } from 'vitest';
import { bridged, until } from '../../tests/bridge/threads.js';

function makeApi() {
  const seen: unknown[] = [];
  const signals: AbortSignal[] = [];
  const controller = new AbortController();
  return {
    seen,
    signals,
    controller,
    api: {
      state: (signal: AbortSignal) => [signal instanceof AbortSignal, signal.aborted],
      wait: (signal: AbortSignal) =>
        new Promise<string>((resolve, reject) => {
          if (signal.aborted) resolve('aborted before');
          signals.push(signal);
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
      keep(signal: AbortSignal) {
        signals.push(signal);
        signal.addEventListener('abort', () => seen.push(signal.reason));
      },
      same: (one: AbortSignal, other: AbortSignal) => one === other,
      mine: () => controller.signal,
    },
  };
}

test('a signal that aborts during the call arrives with its reason', async () => {
  const { api, signals } = makeApi();
  const { run } = await bridged(api);
  const caught = await run(async ({ host, caught }) => {
    const controller = new AbortController();
    const call = host.async.wait(controller.signal);
    await host.async.state(controller.signal);
    controller.abort(new RangeError('enough'));
    const again = new AbortController();
    const other = host.async.wait(again.signal);
    again.abort();
    return [await caught(() => call), await caught(() => other)];
  });
  expect(caught).toMatchObject([{ name: 'RangeError', message: 'enough' }, { name: 'AbortError' }]);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
});

test('an aborted signal arrives aborted, at the latest when the call completes', async () => {
  const { api, seen } = makeApi();
  const { run } = await bridged(api);
  await run(async ({ host }) => {
    host.keep(AbortSignal.abort('over'));
    await host.async.keep(AbortSignal.abort('long over'));
  });
  expect(seen).toEqual(['over', 'long over']);
});

test('a signal that aborts after the call aborts on the other side', async () => {
  const { api, seen, signals } = makeApi();
  const { run } = await bridged(api);
  await run(({ host, kept }) => {
    const controller = new AbortController();
    kept.controller = controller;
    host.keep(controller.signal);
  });
  expect([seen, signals[0]?.aborted]).toEqual([[], false]);
  await run(({ kept }) => (kept.controller as AbortController).abort('late'));
  await until(() => seen.length > 0);
  expect([seen, signals[0]?.aborted]).toEqual([['late'], true]);
});

test('a signal that is passed twice arrives as the same signal', async () => {
  const { run } = await bridged(makeApi().api);
  const same = await run(({ host }) => {
    const { signal } = new AbortController();
    return [host.same(signal, signal), host.same(signal, new AbortController().signal)];
  });
  expect(same).toEqual([true, false]);
});

test('a callback may abort the signal that a blocking call passed', async () => {
  const { run } = await bridged({
    tick: (signal: AbortSignal, tick: () => Promise<void>) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve(signal.reason));
        void tick();
      }),
  });
  const answer = await run(({ host }) => {
    const controller = new AbortController();
    return host.tick(controller.signal, () => controller.abort('by the callback') as never);
  });
  expect(answer).toBe('by the callback');
});

test('a signal of the host aborts in the worker', async () => {
  const { api, controller } = makeApi();
  const { run } = await bridged(api);
  await run(({ host, kept }) => {
    const signal = host.mine();
    kept.reason = new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve(signal.reason));
    });
  });
  controller.abort('by the host');
  expect(await run(({ kept }) => kept.reason)).toBe('by the host');
});

test('close removes the listener on a signal', async () => {
  const added: unknown[] = [];
  const removed: unknown[] = [];
  const controller = new AbortController();
  const { signal } = controller;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (type: string, listener: never, ...rest: never[]) => {
    added.push(listener);
    addEventListener.call(signal, type, listener, ...rest);
  };
  signal.removeEventListener = (type: string, listener: never) => {
    removed.push(listener);
    removeEventListener.call(signal, type, listener);
  };
  const { run, bridge } = await bridged({ mine: () => signal });
  await run(({ host, kept }) => {
    kept.signals = [host.mine(), host.mine()];
  });
  expect([added.length, removed.length]).toEqual([1, 0]);
  bridge.close();
  expect(removed).toEqual(added);
});
