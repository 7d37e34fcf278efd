/** However a bridge ends, or cannot begin: nobody waits for ever, and the error says why. */
import { describe, expect, test } from 'vitest';
import {
  bridged,
  connect as connectThread,
  inNode,
  startNothing,
  startThread,
  startWebThread,
  type Tools,
  until,
  ways,
} from '../../tests/bridge/threads.js';
import { asyncDispose, dispose } from '../sync/dispose.js';
import {
  BridgeClosedError,
  BridgeStateError,
  ClosedError,
  connect,
  expose,
  TimeoutError,
} from './index.js';

const never = () => new Promise<never>(() => {});

const serve = () => ({ never: () => new Promise<never>(() => {}), double: (n: number) => 2 * n });

/** Runs `react` when the other thread has set the word. */
async function onceSet(words: Int32Array, react: () => void): Promise<void> {
  while (Atomics.load(words, 0) === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  react();
}

const word = () => new Int32Array(new SharedArrayBuffer(4));

describe.each(ways)('%s', (way) => {
  const blocks = way !== 'messages';

  test.skipIf(!blocks)('the host closes while the worker is blocked', async () => {
    const { run, bridge } = await bridged({ never }, { way });
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

  test('the host closes while calls are under way on both sides', async () => {
    const { run, bridge } = await bridged({ never, add: (a: number) => a + 1 }, { way, serve });
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

  test('the worker closes', async () => {
    const { run, bridge } = await bridged({ never }, { way, serve });
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

  test('what was said before the end is heard', async () => {
    const noted: number[] = [];
    // Together longer than one turn of the host.
    const note = (n: number) => {
      const end = performance.now() + 0.3;
      while (performance.now() < end);
      noted.push(n);
    };
    const { run, bridge } = await bridged({ note }, { way });
    await run(({ host }) => {
      for (let n = 0; n < 50; n++) host.send.note(n);
      host.close();
    });
    await bridge.ended;
    expect(noted).toEqual(Array.from({ length: 50 }, (_, n) => n));

    const back = await bridged(
      {},
      {
        way,
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

  test('the worker is terminated while the host waits', async () => {
    const { thread, bridge } = await bridged({ never }, { way, serve });
    const call = bridge.worker.never().catch((error: unknown) => error);
    await bridge.worker.double(1);
    thread.terminate();
    expect(await call).toMatchObject({ name: 'BridgeClosedError', call: 'never' });
    expect(await bridge.ended).toBe('the worker has ended');
  });

  // Chromium takes two seconds to terminate such a thread.
  test.skipIf(!blocks)('the worker is terminated while it is blocked', async () => {
    const about = word();
    const { thread, run, bridge } = await bridged({ never }, { way, serve });
    void run(({ host }, about) => {
      Atomics.store(about, 0, 1);
      host.never();
    }, about);
    await onceSet(about, () => thread.terminate());
    expect(await bridge.ended).toBe('the worker has ended');
  });
});

describe.each(ways)('a reason for closing: %s', (way) => {
  const blocks = way !== 'messages';

  test('the host gives one', async () => {
    const { run, bridge } = await bridged({ never }, { way, serve });
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

  test('the worker gives one that is no error', async () => {
    const { run, bridge } = await bridged({ never }, { way, serve });
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

  test('one that cannot be passed on arrives as far as it can', async () => {
    const { run, bridge } = await bridged({ never }, { way });
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

  test.skipIf(!blocks)('a thread that is blocked learns it', async () => {
    const { run, bridge } = await bridged({ never }, { way });
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

test('a reason for closing before the bridge is connected', async () => {
  const thread = await startThread();
  const reason = new RangeError('not today');
  const { port1, port2 } = new MessageChannel();
  const bridge = expose<{ double(n: number): number }>(port1, { never });
  const host = connect<{ never(): void }>({ port: port2 });
  bridge.close(reason);
  await expect(bridge.ready).rejects.toBe(reason);
  await expect(bridge.worker.double(1)).rejects.toBe(reason);
  await expect(bridge.with({}).double(1)).rejects.toBe(reason);
  expect(await host.ended).toBe('the other side has closed the bridge: not today');
  expect(() => host.never()).toThrow(
    'never() has no answer: the other side has closed the bridge: not today',
  );

  const caught = await thread.run(async ({ bridge, caught }) => {
    const host = bridge.connect<{ add(): void }>();
    host.close('never mind');
    return [
      (await caught(() => host.ready)).message,
      (await caught(() => host.add())).message,
      (await caught(() => host.async.add())).message,
      host.closed,
      await host.ended,
    ];
  });
  const text = 'string "never mind"';
  expect(caught).toEqual([text, text, text, true, 'closed here: never mind']);
});

test('an answer that came before the end is an answer', async () => {
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

test('the script of the worker is not there', async () => {
  const bridge = expose(startNothing(), {});
  const error = await bridge.ready.catch((error: unknown) => error);
  expect(error).toBeInstanceOf(BridgeClosedError);
  expect((error as Error).message).toMatch(/the worker has failed: /);
  expect(await bridge.ended).toMatch(/the worker has failed/);
});

test('the worker ends before it connects', async () => {
  const thread = await startThread();
  const bridge = expose(thread.worker, {});
  if (inNode) thread.terminate();
  else bridge.close();
  await expect(bridge.ready).rejects.toThrow(
    inNode ? 'the bridge is closed: the worker has ended' : 'the bridge is closed: closed here',
  );
});

test('the worker connects before, and the host exposes later', async () => {
  const thread = await startThread();
  const connecting = connectThread(thread);
  await thread.run(() => 'in between');
  const bridge = expose(thread.worker, { add: (a: number, b: number) => a + b });
  await Promise.all([bridge.ready, connecting]);
  expect(await thread.run(({ host }) => (host as never as { add: Add }).add(1, 2))).toBe(3);
  bridge.close();
});

type Add = (a: number, b: number) => number;

test('a worker that nobody exposes anything to waits until it closes', async () => {
  const thread = await startThread();
  const caught = await thread.run(async ({ bridge, caught }) => {
    const host = bridge.connect<{ add(a: number, b: number): number }>();
    const early = [
      await caught(() => host.add(1, 2)),
      await caught(() => host.async.add(1, 2)),
      await caught(() => host.send.add(1, 2)),
    ];
    host.close();
    return [...early, await caught(() => host.ready), await host.ended];
  });
  const early = {
    name: 'BridgeStateError',
    call: 'add',
    message: expect.stringMatching(/^add\(\) .*await host\.ready/),
  };
  const closed = { name: 'BridgeClosedError', message: 'the bridge is closed: closed here' };
  expect(caught).toMatchObject([early, early, early, closed, 'closed here']);
});

test('the host calls before the worker has connected', async () => {
  const thread = await startThread();
  const bridge = expose<{ double(n: number): number }>(thread.worker, {});
  const early = [bridge.worker.double(1), bridge.with({ timeout: 1 }).double(1)];
  for (const call of early) {
    await expect(call).rejects.toBeInstanceOf(BridgeStateError);
    await expect(call).rejects.toThrow(/^double\(\) .*await bridge\.ready/);
  }
  bridge.close();
  await expect(bridge.ready).rejects.toBeInstanceOf(BridgeClosedError);
  await expect(bridge.worker.double(1)).rejects.toBeInstanceOf(BridgeClosedError);
});

test('an asynchronous call before `ready` rejects; a name that is not served is undefined', async () => {
  const thread = await startThread();
  const bridge = expose(thread.worker, { inner: { add: (a: number, b: number) => a + b } });
  const found = await thread.run(async ({ bridge, caught }) => {
    const host = bridge.connect<{ inner: { add: Add }; nope: Add }>();
    const promises = [host.async.inner.add(1, 2), host.async.batch(() => [])];
    const areRejected = await Promise.allSettled(promises);
    const early = areRejected.map((result) => (result as PromiseRejectedResult).reason.message);
    const thrown = await caught(() => host.inner.add(1, 2));
    await host.ready;
    const types = [typeof host.nope, typeof host.async.nope, typeof host.inner.add];
    const limited = host.with({ timeout: 10_000 });
    const sums = [
      host.inner.add(1, 2),
      limited.inner.add(3, 4),
      await limited.async.inner.add(5, 6),
    ];
    return { early, thrown: thrown.message, types, sums };
  });
  expect(found).toEqual({
    early: ['inner.add', 'batch'].map(
      (name) => `${name}() is called before the bridge is connected: await host.ready first`,
    ),
    thrown: 'inner.add() is called before the bridge is connected: await host.ready first',
    types: ['undefined', 'undefined', 'function'],
    sums: [3, 7, 11],
  });
  bridge.close();
});

test('views that were read before `ready` can be called after it', async () => {
  const thread = await startThread();
  const sent: number[] = [];
  const api = {
    inner: { add: (a: number, b: number) => a + b },
    note: (n: number) => sent.push(n),
  };
  const bridge = expose<{ double(n: number): number }, typeof api>(thread.worker, api);
  const { worker } = bridge;
  const limited = bridge.with({ timeout: 0 });
  const found = await thread.run(async ({ bridge, caught }) => {
    const host = bridge.connect<{ inner: { add: Add }; note(n: number): void; nope: Add }>({
      serve: { double: (n: number) => 2 * n },
    });
    const { async: asynchronous, send, inner, nope, batch } = host;
    await host.ready;
    send.note(1);
    return {
      sums: [inner.add(1, 2), await asynchronous.inner.add(3, 4)],
      batch: batch((calls) => [calls.inner.add(5, 6)]),
      missing: (await caught(() => nope(1, 2))).message,
    };
  });
  expect(found).toEqual({ sums: [3, 7], batch: [11], missing: 'nope is not a function' });
  expect(sent).toEqual([1]);
  expect(await worker.double(2)).toBe(4);
  await expect(limited.double(2)).rejects.toMatchObject({ name: 'TimeoutError' });
  bridge.close();
});

test.skipIf(!('Deno' in globalThis || 'Bun' in globalThis))(
  'a Web Worker that is terminated while it is blocked',
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

test('a worker message that was made from JSON is never taken for a bridge message', async () => {
  const thread = await startThread();
  const bridge = expose(thread.worker, {});
  await thread.run(({ scope }) => {
    for (const type of ['refuse', 'close', 'hello', 'accept']) {
      scope.post(JSON.parse(`["pointsman.bridge", 0, "${type}", "by a message", null]`));
    }
  });
  expect(bridge.closed).toBe(false);
  await Promise.all([bridge.ready, connectThread(thread)]);
  bridge.close();
});

test.skipIf(!inNode || 'Deno' in globalThis)(
  'a worker that has ended before `expose`',
  async () => {
    const thread = await startThread();
    thread.terminate();
    await thread.ended;
    const bridge = expose<{ double(n: number): number }>(thread.worker, {});
    expect(await bridge.ended).toBe('the worker has ended');
    await expect(bridge.ready).rejects.toBeInstanceOf(BridgeClosedError);
    await expect(bridge.worker.double(1)).rejects.toThrow(
      'double() has no answer: the worker has ended',
    );
  },
);

test('this thread has no host', () => {
  expect(() => connect()).toThrow(BridgeStateError);
  expect(() => connect()).toThrow(/no host/);
});

test('a host that does not return to its event loop is unresponsive, and forgiven', async () => {
  const flag = word();
  const { run } = await bridged(
    {
      busy() {
        const end = performance.now() + 15_000;
        while (Atomics.load(flag, 0) === 0 && performance.now() < end);
        return 'late';
      },
      add: (a: number, b: number) => a + b,
    },
    { heartbeatTimeout: 300 },
  );
  const caught = await run(async ({ host, caught }, flag) => {
    const call = await caught(() => host.busy());
    Atomics.store(flag, 0, 1);
    return [call, host.add(1, 2), await host.async.add(3, 4)];
  }, flag);
  expect(caught).toMatchObject([
    {
      name: 'UnresponsiveError',
      call: 'busy',
      message: expect.stringMatching(/^busy\(\) .* 300 ms/),
    },
    3,
    7,
  ]);
});

test('a host that is only slow is waited for longer than the heartbeatTimeout', async () => {
  const { run } = await bridged(
    { slow: () => new Promise((resolve) => setTimeout(resolve, 900, 'done')) },
    { heartbeatTimeout: 300 },
  );
  expect(await run(({ host }) => host.slow())).toBe('done');
});

test('two threads that block for each other', async () => {
  const [one, two] = [await startThread(), await startThread()];
  const [first, second] = [new MessageChannel(), new MessageChannel()];
  const meet = async (
    { bridge, kept }: Tools,
    exposed: MessagePort,
    connected: MessagePort,
    name: string,
  ) => {
    const exposing = bridge.expose(exposed, { who: () => name });
    const host = bridge.connect<{ who(): string }>({ port: connected });
    kept.exposing = exposing;
    kept.host = host;
    await Promise.all([exposing.ready, host.ready]);
  };
  await Promise.all([
    one.runWith([first.port1, second.port1], meet, first.port1, second.port1, 'one'),
    two.runWith([first.port2, second.port2], meet, second.port2, first.port2, 'two'),
  ]);
  const about = new Int32Array(new SharedArrayBuffer(4));
  const call = async ({ kept, caught }: Tools, about: Int32Array) => {
    const host = kept.host as { who(): string };
    Atomics.add(about, 0, 1);
    while (Atomics.load(about, 0) < 2);
    const outcome = await caught(() => host.who());
    return outcome.name === 'nothing thrown' ? outcome.message : outcome;
  };
  const outcomes = await Promise.all([one.run(call, about), two.run(call, about)]);
  const deadlock = {
    name: 'DeadlockError',
    call: 'who',
    message: expect.stringContaining('who()'),
  };
  const refused = outcomes.filter((outcome) => typeof outcome === 'object');
  expect(refused.length).toBeGreaterThan(0);
  for (const one of refused) expect(one).toMatchObject(deadlock);
  // Both go on.
  const again = ({ kept }: Tools) =>
    (kept.host as { async: { who(): Promise<string> } }).async.who();
  expect(await Promise.all([one.run(again), two.run(again)])).toEqual(['two', 'one']);
});

test('a callback that waits for its own blocked thread', async () => {
  const { run } = await bridged(
    {
      async ask(f: () => Promise<unknown>) {
        try {
          return { answer: await f() };
        } catch (error) {
          return { error: (error as Error).name, message: (error as Error).message };
        }
      },
      add: (a: number, b: number) => a + b,
    },
    { heartbeatTimeout: 300 },
  );
  const answers = await run(({ host }) => [
    host.ask(() => new Promise((resolve) => setTimeout(resolve, 1))),
    host.ask((async () => 'never so far') as never),
    host.add(1, 2),
  ]);
  const deadlock = { error: 'DeadlockError', message: expect.stringContaining('ask()') };
  expect(answers).toMatchObject([deadlock, deadlock, 3]);
});

test('where memory cannot be shared no call can block: the error names the headers', async () => {
  const { run } = await bridged({ add: (a: number, b: number) => a + b }, { way: 'messages' });
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

test('either end can be disposed of', async () => {
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

test('errors are of the classes that all entries share', async () => {
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
