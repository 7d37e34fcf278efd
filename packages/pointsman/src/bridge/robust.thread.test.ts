/** A failed or blocked call does not affect other calls. */
import { describe, expect, test } from 'vitest';
import { bridged, startThread, type Tools, useBridge } from '../../tests/bridge/threads.js';

describe('an error always fits', () => {
  const all = useBridge(
    {
      long() {
        throw new Error('x'.repeat(200_000));
      },
      hostile() {
        const error = new Error('hostile');
        Object.defineProperty(error, 'message', {
          get() {
            throw new Error('the message cannot be read');
          },
        });
        throw error;
      },
      add: (a: number, b: number) => a + b,
    },
    { maxMessageSize: 500 },
  );

  test.each(['long', 'hostile'] as const)('%s', async (name) => {
    const [blocked, later, sum] = await all.run(async ({ host, caught }, name) => {
      return [
        await caught(() => host[name]()),
        await caught(() => host.async[name]()),
        host.add(1, 2),
      ];
    }, name);
    expect(blocked).toMatchObject({ type: 'Error' });
    expect(later).toMatchObject({ type: 'Error' });
    expect(sum).toBe(3);
  });
});

describe('thenables', () => {
  const all = useBridge({
    throwing() {
      return {
        // biome-ignore lint/suspicious/noThenProperty: that is the point
        get then(): never {
          throw new RangeError('no then');
        },
      };
    },
    calling() {
      return {
        // biome-ignore lint/suspicious/noThenProperty: that is the point
        then() {
          throw new RangeError('not now');
        },
      };
    },
    settling() {
      return {
        // biome-ignore lint/suspicious/noThenProperty: that is the point
        then(resolve: (value: number) => void) {
          resolve(5);
        },
      };
    },
    add: (a: number, b: number) => a + b,
  });

  test('may throw in `then`', async () => {
    const [asked, called, settled, sum] = await all.run(async ({ host, caught }) => [
      await caught(() => host.throwing()),
      await caught(() => host.calling()),
      host.settling(),
      host.add(1, 2),
    ]);
    expect(asked).toMatchObject({ name: 'RangeError', message: 'no then' });
    expect(called).toMatchObject({ name: 'RangeError', message: 'not now' });
    expect([settled, sum]).toEqual([5, 3]);
  });
});

test('a batch that fails to encode leaves no pending calls', async () => {
  const { run } = await bridged({ add: (a: number, b: number) => a + b, take: (_: unknown) => 1 });
  const [failed, sum, sums] = await run(async ({ host, caught }) => [
    await caught(() => host.batch((calls) => [calls.add(1, 1), calls.take(Symbol('odd'))])),
    host.add(1, 2),
    host.batch((calls) => [calls.add(3, 4), calls.add(5, 6)]),
  ]);
  expect(failed).toMatchObject({ name: 'DataCloneError', call: 'take' });
  expect([sum, sums]).toEqual([3, [7, 11]]);
});

test('a call times out although the host keeps the thread busy', async () => {
  const { run, bridge } = await bridged(
    { never: () => new Promise<never>(() => {}) },
    { serve: () => ({ ping: () => 1 }) },
  );
  let over = false;
  const caught = run(({ host, caught }) => caught(() => host.with({ timeout: 50 }).never()));
  const busy = (async () => {
    while (!over) await bridge.worker.ping();
  })();
  expect(await caught).toMatchObject({ name: 'TimeoutError', call: 'never' });
  over = true;
  await busy;
});

test('a host with a blocked event loop is unresponsive, and later calls succeed', async () => {
  const flag = new Int32Array(new SharedArrayBuffer(4));
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

test('a slow asynchronous function may take longer than heartbeatTimeout', async () => {
  const { run } = await bridged(
    { slow: () => new Promise((resolve) => setTimeout(resolve, 1_500, 'done')) },
    { heartbeatTimeout: 500 },
  );
  expect(await run(({ host }) => host.slow())).toBe('done');
});

test('two threads that block for each other get a DeadlockError', async () => {
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
  // Later calls succeed.
  const again = ({ kept }: Tools) =>
    (kept.host as { async: { who(): Promise<string> } }).async.who();
  expect(await Promise.all([one.run(again), two.run(again)])).toEqual(['two', 'one']);
});

test('a callback that waits for its own blocked thread rejects with a DeadlockError', async () => {
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
    { heartbeatTimeout: 1_000 },
  );
  const answers = await run(({ host }) => [
    host.ask(() => new Promise((resolve) => setTimeout(resolve, 1))),
    host.ask((async () => 'never so far') as never),
    host.add(1, 2),
  ]);
  const deadlock = { error: 'DeadlockError', message: expect.stringContaining('ask()') };
  expect(answers).toMatchObject([deadlock, deadlock, 3]);
});
