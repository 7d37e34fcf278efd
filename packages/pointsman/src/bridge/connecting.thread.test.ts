/** Before a bridge is connected: the order in which the two sides start, early calls, and failures to connect. */
import { expect, test } from 'vitest';
import {
  connect as connectThread,
  inNode,
  startNothing,
  startThread,
} from '../../tests/bridge/threads.js';
import { BridgeClosedError, BridgeStateError, connect, expose } from './index.js';

const never = () => new Promise<never>(() => {});

type Add = (a: number, b: number) => number;

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

test('ready resolves although the first call closes the bridge', async () => {
  const { port1, port2 } = new MessageChannel();
  const bridge = expose(port1, { end: () => bridge.close('enough') });
  const host = connect<{ end(): void }>({ port: port2 });
  await host.ready;
  // Written before the host handles the message that connects it.
  const ended = host.async.end();
  await bridge.ready;
  expect(await bridge.ended).toBe('closed here: enough');
  await expect(ended).rejects.toThrow('the other side has closed the bridge: enough');
});

test('the script of the worker does not exist', async () => {
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

test('the worker calls connect before the host calls expose', async () => {
  const thread = await startThread();
  const connecting = connectThread(thread);
  await thread.run(() => 'in between');
  const bridge = expose(thread.worker, { add: (a: number, b: number) => a + b });
  await Promise.all([bridge.ready, connecting]);
  expect(await thread.run(({ host }) => (host as never as { add: Add }).add(1, 2))).toBe(3);
  bridge.close();
});

test('early calls of a worker fail, and close rejects `ready`', async () => {
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

test('early calls of the host fail', async () => {
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

test('a user message that was parsed from JSON is not mistaken for a bridge message', async () => {
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

test.skipIf(!inNode || 'Deno' in globalThis)('the worker ended before `expose`', async () => {
  const thread = await startThread();
  thread.terminate();
  await thread.ended;
  const bridge = expose<{ double(n: number): number }>(thread.worker, {});
  expect(await bridge.ended).toBe('the worker has ended');
  await expect(bridge.ready).rejects.toBeInstanceOf(BridgeClosedError);
  await expect(bridge.worker.double(1)).rejects.toThrow(
    'double() has no answer: the worker has ended',
  );
});

test('connect throws in a thread without a host', () => {
  expect(() => connect()).toThrow(BridgeStateError);
  expect(() => connect()).toThrow(/no host/);
});
