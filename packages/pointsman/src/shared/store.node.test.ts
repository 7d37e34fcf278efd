/** Stores: their namespaces, and how they connect, disconnect and close. */
import { describe, expect, test } from 'vitest';
import { soon, storeWays, useServer, watch } from '../../tests/redis/scene.js';
import { asyncDispose } from '../sync/dispose.js';
import { ClosedError, SharedMutex } from './index.js';

const scene = useServer();

/** The number of connections to the server. */
const connections = async (): Promise<number> =>
  String(await scene.server.command('CLIENT', 'LIST'))
    .trim()
    .split('\n').length;

describe.each(storeWays)('$handler, $mode', ({ mode, ...way }) => {
  /** Of what a server, or the way there, can suffer. */
  const onServer = test.skipIf(way.handler === 'host');
  onServer(
    'stores of different namespaces have other keys, the same connections and options',
    async () => {
      const store = await scene.store(way);
      const child = store.withNamespace(`${scene.namespace}-child`);
      expect(child).toMatchObject({ namespace: `${scene.namespace}-child`, ttl: store.ttl });
      const [mutex, other] = [new SharedMutex(store, { mode }), new SharedMutex(child, { mode })];
      const guard = await mutex.lock('a');
      const before = await connections();
      expect(await other.tryLock('a')).toMatchObject({ valid: true });
      expect(await connections()).toBe(before);
      await child.close();
      await expect(other.lock('a')).rejects.toEqual(new ClosedError('the store is closed'));
      expect(guard.valid).toBe(true);
      await guard.release();
      expect(await mutex.run('a', () => 'still open')).toBe('still open');
    },
  );

  onServer(
    'a store connects with the first request and disconnects with its last primitive, any number of times',
    async () => {
      const store = await scene.store(way);
      const before = await connections();
      const keys = ['a', 'b'];
      for (let round = 0; round < 3; round++) {
        const mutexes = keys.map(() => new SharedMutex(store, { mode }));
        const unused = new SharedMutex(store, { mode });
        expect(await connections()).toBe(before);
        const [first, second] = mutexes as [SharedMutex, SharedMutex];
        await Promise.all([first.run('a', () => {}), second.run('b', () => {})]);
        expect(await connections()).toBe(before + 2);
        await first.close();
        expect(await second.run('a', () => 'still open')).toBe('still open');
        await second.close();
        await unused.close();
        await expect.poll(connections, soon).toBe(before);
      }
    },
  );

  test('a primitive can connect while the last one disconnects', async () => {
    const store = await scene.store(way);
    for (let round = 0; round < 5; round++) {
      const [first, second] = [new SharedMutex(store, { mode }), new SharedMutex(store, { mode })];
      await first.run('a', () => {});
      const closed = first.close();
      const guards = [second.lock('b'), closed.then(() => second.lock('c'))];
      await closed;
      for (const guard of guards) await (await guard).release();
      await Promise.all([second.close(), new SharedMutex(store, { mode }).run('d', () => {})]);
    }
  });

  onServer('close closes all primitives with the reason, also of child stores', async () => {
    const store = await scene.store(way);
    const child = store.withNamespace(`${scene.namespace}-child`);
    const mutexes = [new SharedMutex(store, { mode }), new SharedMutex(child, { mode })] as const;
    const unused = new SharedMutex(child, { mode });
    const before = await connections();
    const guards = [await mutexes[0].lock('a'), await mutexes[1].lock('a')];
    const waiters = mutexes.map((mutex) => watch(mutex.lock('a')));
    const reason = { why: 'going home' };
    expect([...mutexes, unused].map(({ closed }) => closed)).toEqual([false, false, false]);
    const closed = store.close(reason);
    expect([...mutexes, unused].map(({ closed }) => closed)).toEqual([true, true, true]);
    expect(store.close('later')).toBe(closed);
    await closed;
    for (const waiter of waiters) expect(waiter.reason).toBe(reason);
    for (const guard of guards) expect(guard.signal.reason).toMatchObject({ cause: reason });
    for (const each of [...mutexes, unused, new SharedMutex(store)]) {
      await expect(each.lock('a')).rejects.toBe(reason);
      await expect(each.query()).rejects.toBe(reason);
      await expect(each.condition('c').notify()).rejects.toBe(reason);
    }
    for (const each of [store, child]) {
      const thrown = watch(Promise.resolve().then(() => each.withNamespace('more')));
      await expect.poll(() => thrown.reason, soon).toBe(reason);
    }
    await child.close();
    await expect.poll(connections, soon).toBe(before);
  });

  test('its disposal serves the requests that wait, and refuses new ones', async () => {
    const store = await scene.store(way);
    const mutex = new SharedMutex(store, { mode });
    const guard = await mutex.lock('a');
    const waiter = mutex.run('a', () => 'served');
    const disposed = watch(store[asyncDispose]());
    await expect(mutex.lock('b')).rejects.toThrow(ClosedError);
    await expect(new SharedMutex(store).lock('b')).rejects.toThrow('the store is closed');
    expect(guard.valid).toBe(true);
    expect(disposed.state).toBe('pending');
    await guard.release();
    expect(await waiter).toBe('served');
    await disposed.promise;
    await store.close();
  });

  test('close during its disposal rejects the requests that wait', async () => {
    const store = await scene.store(way);
    const mutex = new SharedMutex(store, { mode });
    await mutex.lock('a');
    const waiter = watch(mutex.lock('a'));
    const disposed = watch(store[asyncDispose]());
    await store.close('enough');
    expect(waiter.reason).toBe('enough');
    await disposed.promise;
  });
});

test('a name labels the errors of the store and of its mutexes, unless they have their own', async () => {
  const store = await scene.store({ name: 'orders' });
  const [mutex, other] = [new SharedMutex(store), new SharedMutex(store, { name: 'mine' })];
  const guard = await mutex.lock('a');
  expect((await mutex.query()).held[0]?.session).toMatch(/^orders-/);
  await expect(other.lock('a', { timeout: 0 })).rejects.toThrow('mine: timed out after 0 ms');
  await guard.release();
  await store.close();
  await expect(mutex.lock('a')).rejects.toEqual(new ClosedError('orders: the store is closed'));
});

test('a method called without its object rejects or throws, and says so', async () => {
  const { close, withNamespace } = await scene.store();
  const error = (method: string) => new TypeError(`${method} must be called on its object`);
  await expect((close as () => Promise<void>)()).rejects.toEqual(error('close'));
  expect(withNamespace as () => unknown).toThrow(error('withNamespace'));
});
