/** A thread of Node that is blocked hears no event, and learns of the end of the other all the same. */
import { expect, test } from 'vitest';
import { startThread, type Tools } from '../../tests/bridge/threads.js';
import { connect } from './index.js';

interface Mortal {
  add(a: number, b: number): number;
  die(how: 'exit' | 'throw' | 'answer and exit'): number;
  never(): Promise<never>;
}

/** The other thread is the host of this one. Nobody waits for its heartbeat: the test would be over before. */
async function hosted() {
  const thread = await startThread();
  // vitest would take the error of the thread for one of its own.
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
            throw new Error('nobody catches it');
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

test.each(['exit', 'throw'] as const)('the other thread ends by itself: %s', async (how) => {
  const { host } = await hosted();
  expect(host.add(1, 2)).toBe(3);
  expect(thrownBy(() => host.die(how))).toEqual(refused('die'));
  expect(host.closed).toBe(true);
  expect(await host.ended).toBe('the host has ended');
  expect(thrownBy(() => host.add(1, 2))).toEqual(refused('add'));
});

test('it ends between two calls', async () => {
  const { host } = await hosted();
  expect(host.die('answer and exit')).toBe(1);
  expect(thrownBy(() => host.never())).toEqual(refused('never'));
});

test('it is terminated while calls are awaited', async () => {
  const { host, thread } = await hosted();
  const call = host.async.never().catch((error: unknown) => error);
  thread.terminate();
  expect(await call).toEqual(refused('never'));
  expect(await host.ended).toBe('the host has ended');
});

test('it ends before it exposes anything', async () => {
  const thread = await startThread();
  const host = connect<Mortal>({ port: thread.worker });
  thread.terminate();
  await expect(host.ready).rejects.toThrow('the bridge is closed: the host has ended');
  expect(thrownBy(() => host.add(1, 2))).toEqual(refused('add'));
});
