/** A blocked Node thread receives no events, but detects the end of the other thread. */
import { expect, test } from 'vitest';
import { startThread, type Tools } from '../../tests/bridge/threads.js';
import { connect } from './index.js';

interface Mortal {
  add(a: number, b: number): number;
  die(how: 'exit' | 'throw' | 'answer and exit'): number;
  never(): Promise<never>;
}

/** Makes the other thread the host of this one, without a heartbeat timeout. */
async function hosted() {
  const thread = await startThread();
  // Without a listener, vitest reports the thread's error as its own.
  (thread.worker as unknown as NodeJS.EventEmitter).on('error', () => {});
  await thread.run(async ({ bridge, kept }: Tools) => {
    const { parentPort } = process.getBuiltinModule('node:worker_threads');
    const api = {
      add: (a: number, b: number) => a + b,
      die(how: string) {
        if (how === 'exit') process.exit(1);
        if (how === 'answer and exit') setImmediate(() => process.exit(0));
        else
          setImmediate(() => {
            throw new Error('uncaught');
          });
        return how === 'throw' ? new Promise(() => {}) : 1;
      },
      never: () => new Promise(() => {}),
    };
    kept.bridge = bridge.expose(parentPort as never, api, {
      heartbeatTimeout: Number.POSITIVE_INFINITY,
    });
  });
  const host = connect<Mortal>({ port: thread.worker });
  await host.ready;
  return { thread, host };
}

const refused = (call: string) =>
  expect.objectContaining({
    name: 'BridgeClosedError',
    message: `${call}() has no answer: the host has ended`,
    call,
  });

const thrownBy = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

test.each(['exit', 'throw'] as const)(
  'the host thread ends during a blocking call: %s',
  async (how) => {
    const { host } = await hosted();
    expect(host.add(1, 2)).toBe(3);
    expect(thrownBy(() => host.die(how))).toEqual(refused('die'));
    expect(host.closed).toBe(true);
    expect(await host.ended).toBe('the host has ended');
    expect(thrownBy(() => host.add(1, 2))).toEqual(refused('add'));
  },
);

test('the host thread ends between two calls', async () => {
  const { host } = await hosted();
  expect(host.die('answer and exit')).toBe(1);
  expect(thrownBy(() => host.never())).toEqual(refused('never'));
});

test('the host thread is terminated during an asynchronous call', async () => {
  const { host, thread } = await hosted();
  const call = host.async.never().catch((error: unknown) => error);
  thread.terminate();
  expect(await call).toEqual(refused('never'));
  expect(await host.ended).toBe('the host has ended');
});

test('the host thread ends before it calls expose', async () => {
  const thread = await startThread();
  const host = connect<Mortal>({ port: thread.worker });
  thread.terminate();
  await expect(host.ready).rejects.toThrow('the bridge is closed: the host has ended');
  expect(thrownBy(() => host.add(1, 2))).toEqual(refused('add'));
});
