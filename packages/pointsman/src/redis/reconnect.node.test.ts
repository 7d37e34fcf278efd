/** After a lost connection, locks are kept, and waiters keep their place and are served. */
import { describe, expect, test } from 'vitest';
import {
  type Scene,
  short,
  soon,
  untilHeld,
  untilWaiting,
  useServer,
  watch,
  ways,
} from '../../tests/redis/scene.js';

const scene = useServer();
/** Ways to lose the connections of a process: `cut` in a proxy, the others on the server. */
const cuts: Record<string, (scene: Scene, cut: () => void) => unknown> = {
  'the network cuts them': (_, cut) => cut(),
  'the server kills those for commands': ({ server }) =>
    server.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'),
  'the server kills those for messages': ({ server }) =>
    server.command('CLIENT', 'KILL', 'TYPE', 'pubsub'),
  'the server forgets its scripts': ({ server }) => server.command('SCRIPT', 'FLUSH'),
};

describe.each(Object.entries(cuts))('%s', (_, lose) => {
  describe.each(ways)('$handler, $mode', (way) => {
    test('while a lock is held and another request waits: both are kept', async () => {
      const { proxy, mutex } = await scene.disturbed(way);
      const other = await scene.process(way);
      const guard = await mutex.lock(['k', 'l']);
      const first = watch(mutex.lock('k'));
      const second = watch(other.lock('l'));
      await expect.poll(async () => (await other.query()).waiting.length, soon).not.toBe(0);
      await lose(scene, () => proxy.cut());
      await mutex.query();
      await other.query();
      // The lock is in doubt until a loss would be announced to the process again.
      await guard.extend();
      expect(guard.valid).toBe(true);
      expect([first.state, second.state]).toEqual(['pending', 'pending']);
      await guard.release();
      for (const { promise } of [first, second]) {
        const next = await promise;
        expect(next.token).toBeGreaterThan(guard.token);
        await next.release();
      }
      expect(mutex.metrics.losses + other.metrics.losses).toBe(0);
      await untilHeld(other);
    });

    test('before the reply: it arrives on the next connection', async () => {
      const { proxy, mutex } = await scene.disturbed(way);
      await mutex.query();
      proxy.holdReplies();
      const locked = watch(mutex.lock('k'));
      const refused = watch(mutex.tryLock(['k', 'm']));
      await lose(scene, () => proxy.cut());
      proxy.letGo();
      const guard = await locked.promise;
      expect(guard.valid).toBe(true);
      expect(await refused.promise).toBeUndefined();
      await guard.release();
      await untilHeld(mutex);
    });
  });
});

describe.each(ways)('$handler, $mode', (way) => {
  test('a grant that was sent without a connection is found after reconnecting', async () => {
    const { proxy, mutex } = await scene.disturbed(way);
    const holder = await scene.process(way);
    const guard = await holder.lock('k');
    const waiter = watch(mutex.lock('k'));
    await untilWaiting(holder, 1);
    proxy.holdReplies();
    await guard.release();
    await untilHeld(holder, 'k');
    proxy.cut();
    proxy.letGo();
    expect((await waiter.promise).valid).toBe(true);
  });
});

/** No server listens on this port. */
const nowhere = 1;

describe('a half-open connection', () => {
  /** Makes the connection for messages half-open. */
  const deafen = async ({ proxy }: Awaited<ReturnType<Scene['disturbed']>>) => {
    proxy.pointAt(nowhere);
    await scene.server.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await expect.poll(() => proxy.connections, soon).toBe(1);
    proxy.blackhole(true);
    proxy.blackhole(false);
    proxy.pointAt(scene.server.port);
  };

  test.each(ways)('for messages, before the first lock: $handler, $mode', async (way) => {
    const process = await scene.disturbed({ ...way, ttl: short });
    await process.mutex.query();
    await deafen(process);
    await expect.poll(() => process.mutex.tryLock('k').catch(() => {}), soon).toBeDefined();
  });

  test.each(ways)('for messages, while a lock is held: $handler, $mode', async (way) => {
    const process = await scene.disturbed({ ...way, ttl: 1_000 });
    const guard = await process.mutex.lock('k');
    const newest = async () => {
      const listeners = String(await scene.server.command('CLIENT', 'LIST', 'TYPE', 'pubsub'));
      return Math.max(...[...listeners.matchAll(/^id=(\d+)/gm)].map(([, id]) => Number(id)));
    };
    const before = await newest();
    await deafen(process);
    await expect.poll(newest, soon).toBeGreaterThan(before);
    await guard.extend();
    expect(guard.valid).toBe(true);
  });

  test('for commands, before the server is prepared', { timeout: 10_000 }, async () => {
    const { proxy, mutex } = await scene.disturbed({ ttl: short });
    await mutex.query();
    await scene.server.command('SCRIPT', 'FLUSH');
    const missed = async () => String(await scene.server.command('INFO', 'errorstats'));
    const before = await missed();
    proxy.holdReplies();
    const waiting = watch(mutex.lock('k'));
    await expect.poll(missed, soon).not.toBe(before);
    proxy.letGo();
    proxy.blackhole(true);
    proxy.blackhole(false);
    await waiting.promise.catch(() => {});
    await expect
      .poll(() => mutex.tryLock('l').catch(() => {}), { ...soon, timeout: 8_000 })
      .toBeDefined();
  });
});

test.each(ways)(
  'the server restarts without its data: the new one serves the waiters: $handler, $mode',
  async (way) => {
    const [a, b] = [
      await scene.process({ ...way, ttl: 300 }),
      await scene.process({ ...way, ttl: 300 }),
    ];
    const guard = await a.lock('k');
    const waiters = [watch(a.lock('k')), watch(b.lock('k'))];
    await expect.poll(async () => (await a.query()).waiting.length, soon).toBeGreaterThan(0);
    await scene.server.restart();
    const served = waiters.map(async ({ promise }) => {
      const next = await promise;
      expect(guard.valid).toBe(false);
      expect(next.token).toBeGreaterThan(guard.token);
      await next.release();
    });
    await Promise.all(served);
  },
);
