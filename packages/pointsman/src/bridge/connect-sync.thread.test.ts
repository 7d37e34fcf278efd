/** A thread connects to a worker while it blocks, where it can. */
import { describe, expect, test } from 'vitest';
import { inNode, startThread, type Tools } from '../../tests/bridge/threads.js';
import { connectSync, transfer } from './index.js';

test.skipIf(inNode)('a page cannot block', async () => {
  const { worker } = await startThread();
  const refused = expect.objectContaining({ name: 'BridgeStateError', call: 'connectSync' });
  expect(() => connectSync(worker)).toThrow(refused);
  expect(() => connectSync(new URL('https://example.com/worker.js'))).toThrow(refused);
});

describe.runIf(inNode)('a worker whose script calls expose', () => {
  interface Api {
    later(value: unknown): Promise<unknown>;
    twice(call: (n: number) => number | Promise<number>): Promise<number>;
    buffer(size: number): ArrayBuffer;
    fail(): never;
  }

  async function exposing(options: object = {}) {
    const thread = await startThread();
    await thread.run(({ bridge, kept }: Tools, options) => {
      const { parentPort } = process.getBuiltinModule('node:worker_threads');
      const api = {
        later: async (value: unknown) => {
          await new Promise((resolve) => setTimeout(resolve, 1));
          return value;
        },
        twice: async (call: (n: number) => Promise<number>) => (await call(1)) + (await call(2)),
        buffer(size: number) {
          const buffer = new ArrayBuffer(size);
          return bridge.transfer(buffer, [buffer]);
        },
        fail() {
          throw Object.assign(new RangeError('refused', { cause: 'why' }), { own: [1] });
        },
      };
      kept.bridge = bridge.expose(parentPort as never, api, options);
    }, options);
    return thread;
  }

  test('is connected at once', async () => {
    const { worker } = await exposing();
    const connected = connectSync<Api>(worker);
    expect(connected.later({ a: [1, 'two', new Map([[1, 2]])] })).toEqual({
      a: [1, 'two', new Map([[1, 2]])],
    });
    expect(connected.batch((w) => [w.later(1), w.later(2)])).toEqual([1, 2]);
    expect(await connected.async.later(3)).toBe(3);
    await connected.ready;
    connected.close();
    expect(await connected.ended).toBe('closed here');
    expect(() => connected.later(4)).toThrow('later() has no answer: closed here');
  });

  test('errors, transferred buffers and callbacks pass as they do in the other direction', async () => {
    const { worker } = await exposing();
    const connected = connectSync<Api>(worker);
    expect(() => connected.fail()).toThrow(
      expect.objectContaining({ name: 'RangeError', message: 'refused', cause: 'why', own: [1] }),
    );
    const buffer = new ArrayBuffer(1 << 20);
    expect(connected.later(transfer(buffer, [buffer]) as never)).toEqual(new ArrayBuffer(1 << 20));
    expect(buffer.byteLength).toBe(0);
    expect(connected.buffer(9).byteLength).toBe(9);
    expect(connected.twice((n) => 10 * n)).toBe(30);
    connected.close();
  });

  test('a promise of this thread, which is blocked, is a deadlock', async () => {
    const { worker } = await exposing({ heartbeatTimeout: 100 });
    const connected = connectSync<Api>(worker);
    expect(() => connected.twice(async (n) => n)).toThrow(
      expect.objectContaining({
        name: 'DeadlockError',
        message: expect.stringContaining(
          'its promise waits for a thread that is blocked in twice()',
        ),
      }),
    );
    expect(connected.later(1)).toBe(1);
    connected.close();
  });

  test('serves one thread only', async () => {
    const { worker } = await exposing();
    const connected = connectSync<Api>(worker);
    expect(connected.later(1)).toBe(1);
    expect(() => connectSync(worker)).toThrow(
      expect.objectContaining({
        name: 'BridgeClosedError',
        message: 'connectSync() has no answer: the worker is connected already',
      }),
    );
    expect(connected.later(2)).toBe(2);
    connected.close();
  });

  test('may call expose too late', async () => {
    const { worker } = await startThread();
    expect(() => connectSync(worker, { timeout: 50 })).toThrow(
      expect.objectContaining({
        name: 'TimeoutError',
        message: 'connectSync() had no answer within 50 ms',
        call: 'connectSync',
      }),
    );
  });
});
