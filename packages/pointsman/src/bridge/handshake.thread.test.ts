/** The handshake, and how each side detects the end of the other before and after it. */
import { describe, expect, test } from 'vitest';
import {
  bridged,
  connect as connectThread,
  inNode,
  startThread,
  startWebThread,
  type Thread,
  type Tools,
} from '../../tests/bridge/threads.js';
import { connect, type Exposed, expose } from './index.js';

const otherHasClosed = 'the other side has closed the bridge';

interface Adds {
  add(a: number, b: number): number;
}
const add = (a: number, b: number) => a + b;

async function isRefused({ ready, ended }: Pick<Exposed<object>, 'ready' | 'ended'>) {
  await expect(ready).rejects.toThrow(`the bridge is closed: ${otherHasClosed}`);
  expect(await ended).toBe(otherHasClosed);
}

describe('two threads that share a port', () => {
  async function apart(): Promise<{ thread: Thread; here: MessagePort; there: MessagePort }> {
    const thread = await startThread();
    const { port1, port2 } = new MessageChannel();
    return { thread, here: port1, there: port2 };
  }

  // In browsers a port has no close event.
  test.skipIf(!inNode)('the host ends', async () => {
    const { thread, here, there } = await apart();
    await thread.runWith(
      [there],
      ({ bridge, kept }, port) => {
        kept.bridge = bridge.expose(port, { never: () => new Promise<never>(() => {}) });
      },
      there,
    );
    const host = connect<{ never(): Promise<never> }>({ port: here });
    await host.ready;
    const call = host.async.never().catch((error: unknown) => error);
    thread.terminate();
    expect(await call).toMatchObject({ name: 'BridgeClosedError', call: 'never' });
    expect(await host.ended).toBe('the host has ended');
  });

  test('the worker ends', async () => {
    const { thread, here, there } = await apart();
    const bridge = expose<{ never(): Promise<never> }>(here, {});
    await thread.runWith(
      [there],
      ({ bridge, kept }, port) => {
        const serve = { never: () => new Promise<never>(() => {}) };
        kept.host = bridge.connect({ port, serve });
      },
      there,
    );
    await bridge.ready;
    const call = bridge.worker.never().catch((error: unknown) => error);
    thread.terminate();
    expect(await call).toMatchObject({ name: 'BridgeClosedError', call: 'never' });
    expect(await bridge.ended).toBe('the worker has ended');
  });

  test.skipIf(!inNode)('the other thread ends before the handshake', async () => {
    const [one, other] = [await apart(), await apart()];
    const bridge = expose(one.here, {});
    const host = connect({ port: other.here });
    const keep = ({ kept }: { kept: Record<string, unknown> }, port: MessagePort) => {
      kept.port = port;
    };
    await one.thread.runWith([one.there], keep as never, one.there as never);
    await other.thread.runWith([other.there], keep as never, other.there as never);
    one.thread.terminate();
    other.thread.terminate();
    expect(await bridge.ended).toBe('the worker has ended');
    expect(await host.ended).toBe('the host has ended');
    await expect(host.ready).rejects.toThrow('the host has ended');
  });

  test('either side closes', async () => {
    for (const side of ['host', 'worker'] as const) {
      const { port1, port2 } = new MessageChannel();
      const bridge = expose(port1, {});
      const host = connect({ port: port2 });
      await Promise.all([bridge.ready, host.ready]);
      if (side === 'host') bridge.close();
      else host.close();
      const reasons = await Promise.all([bridge.ended, host.ended]);
      expect(reasons.sort()).toEqual(['closed here', otherHasClosed]);
    }
  });
});

describe('a side that closes before the handshake notifies the other', () => {
  test('the worker, while the offer is in flight', async () => {
    const thread = await startThread();
    const bridge = expose(thread.worker, {});
    await thread.run(({ bridge }) => bridge.connect().close());
    await isRefused(bridge);
  });

  test('the host, while the offer is in flight', async () => {
    const { port1, port2 } = new MessageChannel();
    expose(port1, {}).close();
    expect(await connect({ port: port2 }).ended).toBe(otherHasClosed);
  });

  // In Node, listening for a host would keep an otherwise idle thread alive.
  test.skipIf(inNode)('the worker, before the host calls expose', async () => {
    const thread = await startThread();
    await thread.run(({ bridge }) => bridge.connect().close());
    await isRefused(expose(thread.worker, {}));
    const bridge = expose(thread.worker, { add });
    const sum = await thread.run(async ({ bridge }) => {
      const host = bridge.connect<Adds>();
      await host.ready;
      return host.add(1, 2);
    });
    expect(sum).toBe(3);
    bridge.close();
  });

  test.skipIf(inNode)('the worker, while it waits for its lock', async () => {
    const thread = await startThread();
    const bridge = expose(thread.worker, {});
    await thread.run(async ({ bridge }) => {
      // Patches the prototype, because WebKit may replace the `locks` object.
      const locks = Object.getPrototypeOf(globalThis.navigator.locks) as LockManager;
      const asked = new Promise<void>((resolve) => {
        locks.request = (() => {
          resolve();
          return new Promise(() => {});
        }) as never;
      });
      const host = bridge.connect();
      await asked;
      host.close();
    });
    await isRefused(bridge);
  });
});

// Bun and Deno have both kinds of workers.
test.skipIf(!inNode || typeof Worker === 'undefined')('a Web Worker connects', async () => {
  const thread = await startWebThread();
  const api = { add, later: async (f: (n: number) => Promise<number>) => f(1) };
  const bridge = expose<Adds>(thread.worker, api);
  await connectThread(thread, { serve: () => ({ add: (a: number, b: number) => a + b }) });
  const answers = await thread.run(({ host }: Tools<typeof api>) => [
    host.add(1, 2),
    host.later((n) => n + 1),
  ]);
  expect(answers).toEqual([3, 2]);
  expect(await bridge.worker.add(3, 4)).toBe(7);
  thread.terminate();
  expect(await bridge.ended).toBe('the worker has ended');
});

test('an offer that arrives in time is the only one', async () => {
  const { port1, port2 } = new MessageChannel();
  let offers = 0;
  const post = port1.postMessage.bind(port1) as (...args: unknown[]) => void;
  port1.postMessage = (message: unknown[], ...rest: unknown[]) => {
    if (message[2] === 'offer') offers++;
    post(message, ...rest);
  };
  const bridge = expose(port1, { add });
  const host = connect<Adds>({ port: port2 });
  await Promise.all([bridge.ready, host.ready]);
  expect(await host.async.add(1, 2)).toBe(3);
  expect(offers).toBe(1);
  bridge.close();
});

test.skipIf(!inNode)('the ports of offers that are not accepted are closed', async () => {
  const offers: [id: number, ports: MessagePort[]][] = [];
  let say!: (event: { data: unknown }) => void;
  const bridge = expose(
    {
      postMessage([, id]: [string, number], ports: MessagePort[]) {
        offers.push([id, ports]);
      },
      addEventListener(type: string, listener: never) {
        if (type === 'message') say = listener;
      },
    } as never,
    {},
  );
  say({ data: ['pointsman.bridge', 0, 'hello', undefined, 1n] });
  const [[id, [accepted]], [, others]] = offers as [
    [number, [MessagePort]],
    [number, MessagePort[]],
  ];
  const closedPorts = others.map(
    (port) =>
      new Promise((resolve) => {
        port.addEventListener('close', resolve);
        port.start();
      }),
  );
  expect(others).toHaveLength(2);
  accepted.postMessage(['pointsman.bridge', id, 'accept', [], 1n]);
  await bridge.ready;
  await Promise.all(closedPorts);
  bridge.close();
});

test.skipIf(inNode)('the lock of a worker is released when the bridge is closed', async () => {
  for (const side of ['host', 'worker'] as const) {
    const { bridge, run } = await bridged({});
    const locks = () =>
      run(async () => {
        const own = `test ${Math.random()}`;
        const { held = [], pending = [] } = await globalThis.navigator.locks.request(own, () =>
          globalThis.navigator.locks.query(),
        );
        const me = held.find(({ name }) => name === own)?.clientId;
        const mine = held.filter(({ clientId, name }) => clientId === me && name !== own);
        const names = mine.map(({ name }) => name);
        return [names, pending.filter(({ name }) => names.includes(name as string)).length];
      });
    let now = await locks();
    while (now[1] === 0) now = await locks();
    expect(now).toEqual([[expect.stringMatching(/^pointsman\.worker\./)], 1]);
    const [name] = now[0] as string[];
    if (side === 'host') bridge.close();
    else await run(({ host }) => host.close());
    await bridge.ended;
    while (((await locks())[0] as string[]).length > 0);
    const { held = [], pending = [] } = await globalThis.navigator.locks.query();
    expect([...held, ...pending].filter((lock) => lock.name === name)).toEqual([]);
  }
});
