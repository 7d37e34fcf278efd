/** What goes wrong in one call leaves the bridge as it was for the others. */
import { describe, expect, test } from 'vitest';
import { bridged, useBridge } from '../../tests/bridge/threads.js';

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

describe('what looks like a promise', () => {
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

  test('may throw where it is asked', async () => {
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

test('a batch that cannot be encoded whole leaves nothing that waits', async () => {
  const { run } = await bridged({ add: (a: number, b: number) => a + b, take: (_: unknown) => 1 });
  const [failed, sum, sums] = await run(async ({ host, caught }) => [
    await caught(() => host.batch((calls) => [calls.add(1, 1), calls.take(Symbol('odd'))])),
    host.add(1, 2),
    host.batch((calls) => [calls.add(3, 4), calls.add(5, 6)]),
  ]);
  expect(failed).toMatchObject({ name: 'DataCloneError', call: 'take' });
  expect([sum, sums]).toEqual([3, [7, 11]]);
});

test('a timeout holds although the host keeps the thread busy', async () => {
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

test('a short heartbeatTimeout is no reason to give up a host that is alive', async () => {
  const { run } = await bridged(
    { slow: () => new Promise((resolve) => setTimeout(() => resolve('done'), 1_500)) },
    { heartbeatTimeout: 500 },
  );
  expect(await run(({ host }) => host.slow())).toBe('done');
});
