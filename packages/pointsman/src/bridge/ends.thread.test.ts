/** However a bridge ends, pending and later calls fail with an error that states the cause. */
import { describe, expect, test } from 'vitest';
import { bridged, startWebThread, transports, until } from '../../tests/bridge/threads.js';
import { asyncDispose, dispose } from '../sync/dispose.js';
import { BridgeClosedError, ClosedError, expose, TimeoutError } from './index.js';

const never = () => new Promise<never>(() => {});

const serve = () => ({ never: () => new Promise<never>(() => {}), double: (n: number) => 2 * n });

/** Runs `react` when the other thread has set the word. */
async function onceSet(words: Int32Array, react: () => void): Promise<void> {
  while (Atomics.load(words, 0) === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  react();
}

const word = () => new Int32Array(new SharedArrayBuffer(4));

describe.each(transports)('%s', (transport) => {
  const blocks = transport !== 'messages';

  test.skipIf(!blocks)('the host closes while the worker is blocked', async () => {
    const { run, bridge } = await bridged({ never }, { transport });
    const about = word();
    const caught = run(async ({ host, caught }, about) => {
      Atomics.store(about, 0, 1);
      return [
        await caught(() => host.never()),
        await caught(() => host.never()),
        await caught(() => host.async.never()),
        await caught(() => host.send.never()),
        await caught(() => host.batch((calls) => [calls.never()])),
        await caught(() => host.batch(() => [])),
      ];
    }, about);
    await onceSet(about, () => bridge.close());
    const closed = { name: 'BridgeClosedError', call: 'never', message: /never\(\)/ };
    const expected = { ...closed, message: expect.stringMatching(closed.message) };
    const [first, ...others] = await caught;
    expect(first).toMatchObject(expected);
    expect(others.slice(0, 3)).toMatchObject([expected, expected, expected]);
    expect(others[3]).toMatchObject({ name: 'BridgeClosedError' });
    expect(others[4]).toMatchObject({ name: 'BridgeClosedError' });
    expect(await bridge.ended).toBe('closed here');
    expect(await run(({ host }) => host.ended)).toBe('the other side has closed the bridge');
  });

  test('the host closes while both sides have pending calls', async () => {
    const { run, bridge } = await bridged(
      { never, add: (a: number) => a + 1 },
      { transport, serve },
    );
    const own = bridge.worker.never().catch((error: unknown) => error);
    const about = word();
    const caught = run(async ({ host, caught }, about) => {
      const calls = [caught(() => host.async.never()), caught(() => host.async.never())];
      await host.async.add(1);
      Atomics.store(about, 0, 1);
      return Promise.all(calls);
    }, about);
    await onceSet(about, () => bridge.close());
    const closed = { name: 'BridgeClosedError', call: 'never' };
    expect(await caught).toMatchObject([closed, closed]);
    expect(await own).toBeInstanceOf(BridgeClosedError);
    await expect(bridge.worker.double(1)).rejects.toBeInstanceOf(BridgeClosedError);
    bridge.close();
  });

  test('the worker closes while both sides have pending calls', async () => {
    const { run, bridge } = await bridged({ never }, { transport, serve });
    const own = bridge.worker.never().catch((error: unknown) => error);
    const caught = await run(async ({ host, caught }) => {
      const call = caught(() => host.async.never());
      host.close();
      host.close();
      return [await call, await host.ended];
    });
    expect(caught).toMatchObject([{ name: 'BridgeClosedError', call: 'never' }, 'closed here']);
    expect(await own).toMatchObject({ name: 'BridgeClosedError', call: 'never' });
    expect(await bridge.ended).toBe('the other side has closed the bridge');
  });

  test('calls that were sent before close are served', async () => {
    const noted: number[] = [];
    // All calls together take longer than one turn of the host.
    const note = (n: number) => {
      const end = performance.now() + 0.3;
      while (performance.now() < end);
      noted.push(n);
    };
    const { run, bridge } = await bridged({ note }, { transport });
    await run(({ host }) => {
      for (let n = 0; n < 50; n++) host.send.note(n);
      host.close();
    });
    await bridge.ended;
    expect(noted).toEqual(Array.from({ length: 50 }, (_, n) => n));

    const back = await bridged(
      {},
      {
        transport,
        serve: ({ kept }) => ({
          note(n: number) {
            kept.noted = [...((kept.noted as number[]) ?? []), n];
          },
        }),
      },
    );
    for (let n = 0; n < 50; n++) back.bridge.worker.note(n).catch(() => {});
    back.bridge.close();
    const there = await back.run(async ({ host, kept }) => {
      await host.ended;
      return kept.noted;
    });
    expect(there).toEqual(noted);
  });

  test('the worker is terminated while the host has a pending call', async () => {
    const { thread, bridge } = await bridged({ never }, { transport, serve });
    const call = bridge.worker.never().catch((error: unknown) => error);
    await bridge.worker.double(1);
    thread.terminate();
    expect(await call).toMatchObject({ name: 'BridgeClosedError', call: 'never' });
    expect(await bridge.ended).toBe('the worker has ended');
  });

  // Chromium takes two seconds to terminate a blocked thread.
  test.skipIf(!blocks)('the worker is terminated while it is blocked', async () => {
    const about = word();
    const { thread, run, bridge } = await bridged({ never }, { transport, serve });
    void run(({ host }, about) => {
      Atomics.store(about, 0, 1);
      host.never();
    }, about);
    await onceSet(about, () => thread.terminate());
    expect(await bridge.ended).toBe('the worker has ended');
  });
});

describe.each(transports)('a reason for closing: %s', (transport) => {
  const blocks = transport !== 'messages';

  test('the host gives a reason', async () => {
    const { run, bridge } = await bridged({ never }, { transport, serve });
    const own = bridge.worker.never().catch((error: unknown) => error);
    const about = word();
    const caught = run(async ({ host, caught }, about) => {
      const call = caught(() => host.async.never());
      await host
        .with({ timeout: 1 })
        .async.never()
        .catch(() => {});
      Atomics.store(about, 0, 1);
      const answers = [
        await call,
        await caught(() => host.async.never()),
        await caught(() => host.send.never()),
      ];
      return { answers, closed: host.closed, ended: await host.ended };
    }, about);
    const reason = Object.assign(new RangeError('going home'), { code: 'HOME' });
    expect(bridge.closed).toBe(false);
    await onceSet(about, () => bridge.close(reason));
    bridge.close(new Error('a second one'));
    expect(bridge.closed).toBe(true);
    expect(await own).toBe(reason);
    await expect(bridge.worker.double(1)).rejects.toBe(reason);
    await expect(bridge.with({ timeout: 5 }).double(1)).rejects.toBe(reason);
    expect(await bridge.ended).toBe('closed here: going home');
    const { answers, closed, ended } = await caught;
    const cause = {
      name: 'RangeError',
      message: 'going home',
      type: 'RangeError',
      own: { code: 'HOME' },
    };
    const message = 'never() has no answer: the other side has closed the bridge: going home';
    const refused = { name: 'BridgeClosedError', call: 'never', message, cause };
    expect(answers).toMatchObject([refused, refused, refused]);
    expect([closed, ended]).toEqual([true, 'the other side has closed the bridge: going home']);
  });

  test('the worker gives a reason that is not an error', async () => {
    const { run, bridge } = await bridged({ never }, { transport, serve });
    const own = bridge.worker.never().catch((error: unknown) => error);
    const caught = await run(async ({ host, caught }) => {
      const call = caught(() => host.async.never());
      host.close('enough');
      return [
        (await call).message,
        (await caught(() => host.async.never())).message,
        await host.ended,
      ];
    });
    expect(caught).toEqual(['string "enough"', 'string "enough"', 'closed here: enough']);
    expect(await own).toMatchObject({
      name: 'BridgeClosedError',
      message: 'never() has no answer: the other side has closed the bridge: enough',
      cause: 'enough',
    });
    expect(await bridge.ended).toBe('the other side has closed the bridge: enough');
  });

  test('a reason that cannot be cloned arrives without the uncloneable parts', async () => {
    const { run, bridge } = await bridged({ never }, { transport });
    const caught = run(async ({ host, caught }) => {
      const { cause } = await caught(() => host.async.never());
      return cause as { message: string };
    });
    await run(({ host }) =>
      host
        .with({ timeout: 1 })
        .async.never()
        .catch(() => {}),
    );
    bridge.close(Object.assign(new Error('half'), { weak: new WeakMap() }));
    expect((await caught).message).toBe('half');
  });

  test.skipIf(!blocks)('a blocked thread receives the reason', async () => {
    const { run, bridge } = await bridged({ never }, { transport });
    const about = word();
    const caught = run(async ({ host, caught }, about) => {
      Atomics.store(about, 0, 1);
      const refused = await caught(() => host.never());
      const isClosed = host.closed;
      return [refused, await caught(() => host.never()), isClosed];
    }, about);
    await onceSet(about, () => bridge.close(new TypeError('over')));
    const refused = {
      name: 'BridgeClosedError',
      message: 'never() has no answer: the other side has closed the bridge: over',
      cause: { name: 'TypeError', message: 'over' },
    };
    expect(await caught).toMatchObject([refused, refused, true]);
  });
});

test('a reply that arrived before the end is delivered', async () => {
  let close = () => {};
  const { run, bridge } = await bridged({
    add: (a: number, b: number) => {
      queueMicrotask(() => close());
      return a + b;
    },
  });
  close = () => bridge.close('after the answer');
  expect(await run(({ host }) => host.add(1, 2))).toBe(3);
});

test.skipIf(!('Deno' in globalThis || 'Bun' in globalThis))(
  'a Web Worker is terminated while it is blocked',
  async () => {
    const thread = await startWebThread();
    let asked = false;
    const bridge = expose<{ block(): Promise<void> }>(thread.worker, {
      never() {
        asked = true;
        return never();
      },
    });
    await thread.run(async ({ bridge, kept }) => {
      const host = bridge.connect<{ never(): void }>({ serve: { block: () => host.never() } });
      kept.host = host;
      await host.ready;
    });
    const blocking = bridge.worker.block();
    await until(() => asked);
    thread.terminate();
    await expect(blocking).rejects.toThrow('block() has no answer: the worker has ended');
    expect(await bridge.ended).toBe('the worker has ended');
  },
);

test('without shared memory a blocking call throws an error that names the headers', async () => {
  const { run } = await bridged(
    { add: (a: number, b: number) => a + b },
    { transport: 'messages' },
  );
  const caught = await run(async ({ host, caught }) => [
    await caught(() => host.add(1, 2)),
    await caught(() => host.batch((calls) => [calls.add(1, 2)])),
    await host.async.add(1, 2),
    host.close('going home'),
    await caught(() => host.add(1, 2)),
    await caught(() => host.batch((calls) => [calls.add(1, 2)])),
  ]);
  const headers = 'Cross-Origin-Opener-Policy.*Cross-Origin-Embedder-Policy';
  const message = expect.stringMatching(
    new RegExp(`^(add|batch)\\(\\) cannot block: .*${headers}`),
  );
  const refused = { name: 'BridgeStateError', message };
  const home = { type: 'string', message: 'string "going home"' };
  const refusals = [{ ...refused, call: 'add' }, refused, 3, undefined, home, home];
  expect(caught).toMatchObject(refusals);
});

test('both sides are disposable', async () => {
  for (const symbol of [dispose, asyncDispose] as const) {
    const { bridge, run } = await bridged({});
    await bridge[symbol]();
    expect([bridge.closed, await bridge.ended]).toEqual([true, 'closed here']);
    await run(({ host }) => host.ended);
  }
  const ends = await (await bridged({})).run(async ({ host }) => {
    await host[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]();
    return [host.closed, await host.ended];
  });
  expect(ends).toEqual([true, 'closed here']);
  const { run, bridge } = await bridged({});
  await run(({ host }) => host[Symbol.dispose ?? Symbol.for('Symbol.dispose')]());
  expect(await bridge.ended).toBe('the other side has closed the bridge');
});

test('errors are instances of the classes that all entries share', async () => {
  const { bridge } = await bridged({}, { serve });
  const late = bridge.with({ timeout: 0 }).never();
  await expect(late).rejects.toBeInstanceOf(TimeoutError);
  bridge.close();
  const refused = bridge.worker.never();
  await expect(refused).rejects.toBeInstanceOf(BridgeClosedError);
  await expect(refused).rejects.toBeInstanceOf(ClosedError);
});

test('a getter of an argument that closes the bridge fails its own call', async () => {
  const { run } = await bridged({ never: (_: unknown) => never() });
  const caught = await run(({ host, caught }) => {
    const closing = {
      get value() {
        host.close();
        return 1;
      },
    };
    return caught(() => host.async.never(closing));
  });
  expect(caught).toMatchObject({ name: 'BridgeClosedError', call: 'never' });
});
