/** The election of a leader on Redis, with both handlers, and on one machine: one leader, hand-over, loss and bad input. */
import { describe, expect, test } from 'vitest';
import { short, soon, storeHandlers, useServer, watch } from '../../tests/redis/scene.js';
import { ClosedError, Leader, LockLostError, ReentrancyError, SharedMutex } from './index.js';

const scene = useServer();

describe.each(storeHandlers)('%s', (handler) => {
  /** Of what a server, or the way there, can suffer. */
  const onServer = test.skipIf(handler === 'host');
  const open = async (name?: string, ttl = 1_000) =>
    new Leader(await scene.store({ handler, ttl, name }), 'jobs');

  test('one process leads, and the next one when it resigns, with a higher token', async () => {
    const [a, b] = [await open('a'), await open('b')];
    expect([a.isLeader, a.token, a.signal, await a.current()]).toEqual([
      false,
      undefined,
      undefined,
      undefined,
    ]);
    const term = await a.campaign();
    expect(await a.campaign()).toBe(term);
    await expect(a.campaign({ signal: AbortSignal.abort('enough') })).rejects.toBe('enough');
    expect([a.isLeader, b.isLeader, a.token]).toEqual([true, false, term.token]);
    expect(a.signal?.aborted).toBe(false);
    expect(await b.current()).toMatch(/^a-/);
    const next = watch(b.campaign());
    await expect.poll(() => b.waiting, soon).toBe(1);
    await a.resign();
    const second = await next.promise;
    expect([a.isLeader, b.isLeader]).toEqual([false, true]);
    expect(second.token).toBeGreaterThan(term.token);
    await a.resign();
    expect(b.isLeader).toBe(true);
  });

  test('a leader that closes hands over', async () => {
    const [a, b] = [await open(), await open()];
    const term = await a.campaign();
    const next = watch(b.campaign());
    await expect.poll(() => b.waiting, soon).toBe(1);
    await a.close();
    const elected = await next.promise;
    // On one machine the server closes too: the term is in doubt until the process has connected to the next one.
    await expect.poll(() => elected.valid, soon).toBe(true);
    expect(term.signal.reason).toBeInstanceOf(LockLostError);
    await expect(a.campaign()).rejects.toThrow(ClosedError);
  });

  onServer(
    'a leader without its store loses its term, and another leads after the lease',
    async () => {
      const proxy = await scene.proxy();
      const dead = new Leader(await scene.store({ handler, ttl: short, port: proxy.port }), 'jobs');
      const term = await dead.campaign();
      const { signal } = term;
      const next = watch((await open('b', short)).campaign());
      await proxy.stop();
      expect((await next.promise).valid).toBe(true);
      await expect.poll(() => signal.aborted, soon).toBe(true);
      expect([dead.isLeader, dead.token, dead.signal]).toEqual([false, undefined, undefined]);
    },
  );

  onServer('a campaign while the term is in doubt does not wait behind the term', async () => {
    const proxy = await scene.proxy();
    const store = await scene.store({ handler, ttl: 3_000, port: proxy.port });
    const leader = new Leader(store, 'jobs');
    const term = await leader.campaign();
    proxy.pointAt(1);
    await scene.server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await expect.poll(() => leader.isLeader, soon).toBe(false);
    const again = watch(leader.campaign());
    await expect(new Leader(store, 'jobs').campaign({ timeout: 20 })).rejects.toThrow('timed out');
    proxy.pointAt(scene.server.port);
    expect(await again.promise).toBe(term);
    expect(leader.isLeader).toBe(true);
  });

  test('a campaign that is given up does not lead later', async () => {
    const [a, b] = [await open(), await open()];
    await a.campaign();
    const controller = new AbortController();
    const waiting = watch(b.campaign({ signal: controller.signal }));
    await expect.poll(() => b.waiting, soon).toBe(1);
    await expect(b.campaign()).rejects.toThrow(ReentrancyError);
    controller.abort();
    await expect(waiting.promise).rejects.toBe(controller.signal.reason);
    await a.resign();
    expect(await a.current()).toBe(undefined);
    expect((await b.campaign({ timeout: 1_000 })).valid).toBe(true);
  });

  test('run leads until its function has settled', async () => {
    const leader = await open();
    expect(
      await leader.run(async ({ token }) => [leader.isLeader, token === leader.token]),
    ).toEqual([true, true]);
    await expect(leader.run(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(leader.isLeader).toBe(false);
  });

  test('of several runs under one term, the last to settle resigns', async () => {
    const leader = await open();
    const term = await leader.campaign();
    let end!: () => void;
    const long = leader.run(async (given) => {
      await new Promise<void>((resolve) => {
        end = resolve;
      });
      return given;
    });
    expect(await leader.run((given) => given)).toBe(term);
    expect(term.valid).toBe(true);
    end();
    expect(await long).toBe(term);
    expect(term.released).toBe(true);
  });

  test('elections of different names are independent, and apart from the keys of a mutex', async () => {
    const store = await scene.store({ handler });
    const [a, b] = [new Leader(store, 'a'), new Leader(store, 'b')];
    await a.campaign();
    expect((await b.campaign({ timeout: 0 })).valid).toBe(true);
    expect((await new SharedMutex(store).tryLock('a'))?.valid).toBe(true);
  });
});

test('bad input is refused before anything is sent', async () => {
  const store = await scene.store();
  for (const name of ['', 1, undefined, '\ud800']) {
    expect(() => new Leader(store, name as never)).toThrow(/election must be/);
  }
  const leader = new Leader(store, 'jobs');
  await expect(leader.campaign({ timeout: -1 })).rejects.toThrow(/timeout/);
  await expect(leader.run(undefined as never)).rejects.toThrow(/fn must be/);
  const { resign } = leader;
  await expect(resign()).rejects.toThrow(/resign/);
  expect(await scene.keys()).toEqual([]);
});
