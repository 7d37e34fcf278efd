/** The read-write lock on Redis, with both handlers, and on one machine: sharing, order, all or nothing, downgrade, loss and bad input. */
import { describe, expect, test } from 'vitest';
import { short, soon, storeHandlers, useServer, watch } from '../../tests/redis/scene.js';
import {
  ClosedError,
  LockLostError,
  type SharedGuard,
  SharedMutex,
  SharedRwLock,
  TimeoutError,
} from './index.js';

const scene = useServer();

describe.each(storeHandlers)('%s', (handler) => {
  /** Of what a server, or the way there, can suffer. */
  const onServer = test.skipIf(handler === 'host');
  const open = async (ttl = 1_000) => new SharedRwLock(await scene.store({ handler, ttl }));
  const states = (outcomes: readonly { state: string }[]) => outcomes.map(({ state }) => state);
  const untilWaiting = (lock: SharedRwLock, count: number) =>
    expect.poll(async () => (await lock.query()).waiting.length, soon).toBe(count);

  test('readers of several processes share a key, and a writer excludes them', async () => {
    const [a, b] = [await open(), await open()];
    const readers = [await a.read('k'), await b.read('k'), await a.read('k')];
    expect(readers.every(({ valid }) => valid)).toBe(true);
    expect(await b.tryWrite('k')).toBe(undefined);
    for (const reader of readers) await reader.release();
    const writer = await b.write('k');
    expect(await a.tryRead('k')).toBe(undefined);
    expect(await a.tryWrite('k')).toBe(undefined);
    expect(writer.token).toBeGreaterThan(Math.max(...readers.map(({ token }) => token)));
  });

  test('a reader waits behind an earlier writer, and readers enter together after it', async () => {
    const [a, b] = [await open(), await open()];
    const first = await a.read('k');
    const writer = watch(b.write('k'));
    await untilWaiting(a, 1);
    const readers = [watch(a.read('k'))];
    await untilWaiting(a, 2);
    readers.push(watch(b.read('k')));
    await untilWaiting(a, 3);
    const last = watch(a.write('k'));
    await untilWaiting(a, 4);
    expect(states([writer, ...readers, last])).toEqual(Array(4).fill('pending'));
    await first.release();
    const held = await writer.promise;
    expect(states(readers)).toEqual(['pending', 'pending']);
    await held.release();
    const both = await Promise.all(readers.map(({ promise }) => promise));
    expect(last.state).toBe('pending');
    for (const guard of both) await guard.release();
    await (await last.promise).release();
  });

  test('a writer that gives up lets the readers behind it enter', async () => {
    const [a, b] = [await open(), await open()];
    const first = await a.read('k');
    const controller = new AbortController();
    const writer = watch(b.write('k', { signal: controller.signal }));
    await untilWaiting(a, 1);
    const reader = watch(a.read('k'));
    await untilWaiting(a, 2);
    const reason = new Error('no more');
    controller.abort(reason);
    expect((await reader.promise).valid).toBe(true);
    expect(writer.reason).toBe(reason);
    await expect(b.write('k', { timeout: 5 })).rejects.toThrow(TimeoutError);
    await expect(b.write('k', { timeout: 0 })).rejects.toThrow(TimeoutError);
    expect((await a.query()).waiting).toEqual([]);
    await first.release();
  });

  test('a request over several keys takes all or none', async () => {
    const [a, b] = [await open(), await open()];
    const writer = await a.write('y');
    const both = watch(b.read(['x', 'y']));
    await untilWaiting(a, 1);
    // The waiter has no key, but the writer of x does not pass it.
    expect(await a.tryWrite('x')).toBe(undefined);
    expect((await a.query()).held.map(({ keys }) => keys)).toEqual([['y']]);
    await writer.release();
    expect((await both.promise).keys).toEqual(['x', 'y']);
  });

  test('a downgrade admits readers and no writer', async () => {
    const [a, b] = [await open(), await open()];
    const guard = await a.write('k');
    const { token } = guard;
    const reader = watch(b.read('k'));
    await untilWaiting(a, 1);
    const writer = watch(b.write('k'));
    await untilWaiting(a, 2);
    await a.downgrade(guard);
    const second = await reader.promise;
    expect([guard.valid, guard.token, writer.state]).toEqual([true, token, 'pending']);
    await a.downgrade(guard);
    await guard.release();
    expect(writer.state).toBe('pending');
    await second.release();
    await writer.promise;
    await expect(a.downgrade(guard)).rejects.toThrow(LockLostError);
    await expect(b.downgrade(guard)).rejects.toThrow(/guard of this read-write lock/);
  });

  test('a writer and the holder of a mutex exclude each other', async () => {
    const store = await scene.store({ handler });
    const [lock, mutex] = [new SharedRwLock(store), new SharedMutex(store)];
    const guard = await mutex.lock('k');
    expect(await lock.tryRead('k')).toBe(undefined);
    await guard.release();
    const reader = await lock.read('k');
    expect(await mutex.tryLock('k')).toBe(undefined);
    const [taken] = await mutex.forceUnlock('k');
    expect(taken).toMatchObject({ keys: ['k'], weight: 1 });
    await expect.poll(() => reader.signal.aborted, soon).toBe(true);
    expect(reader.signal.reason).toBeInstanceOf(LockLostError);
  });

  onServer('readers of a process that stops renewing are removed with its lease', async () => {
    const { proxy, mutex } = await scene.disturbed({ handler, ttl: short });
    const dead = new SharedRwLock(await scene.store({ handler, ttl: short, port: proxy.port }));
    const reader = await dead.read('k');
    const other = await open(short);
    const shared = await other.read('k');
    const writer = watch(other.write('k'));
    await proxy.stop();
    await shared.release();
    expect((await writer.promise).valid).toBe(true);
    expect(reader.valid).toBe(false);
    await mutex.close();
  });

  test('run settles like its function, after the release', async () => {
    const lock = await open();
    let held: SharedGuard | undefined;
    const read = await lock.runRead('k', async (guard) => {
      held = guard;
      return guard.keys;
    });
    expect([read, held?.released]).toEqual([['k'], true]);
    await expect(lock.runWrite('k', () => Promise.reject(new Error('broken')))).rejects.toThrow(
      'broken',
    );
    expect((await lock.query()).held).toEqual([]);
  });

  test('close rejects the waiters and ends the guards', async () => {
    const lock = await open();
    const guard = await lock.read('k');
    const writer = watch(lock.write('k'));
    await untilWaiting(lock, 1);
    await lock.close();
    expect(writer.reason).toBeInstanceOf(ClosedError);
    expect(guard.signal.reason).toBeInstanceOf(LockLostError);
    await expect(lock.read('k')).rejects.toThrow('the read-write lock is closed');
  });
});

test('bad input is refused before anything is sent', async () => {
  const lock = new SharedRwLock(await scene.store());
  await expect(lock.read('')).rejects.toThrow(/keys must be/);
  await expect(lock.write([])).rejects.toThrow(/keys.length/);
  await expect(lock.read('k', { timeout: -1 })).rejects.toThrow(/timeout/);
  await expect(lock.read('k', { weight: 2 } as never)).rejects.toThrow(/weight/);
  await expect(lock.runRead('k', undefined as never)).rejects.toThrow(/fn must be/);
  await expect(lock.downgrade({} as never)).rejects.toThrow(/guard must be/);
  expect(() => new SharedRwLock({} as never)).toThrow(/store must be/);
  expect(() => new SharedRwLock({} as never, { mode: 'local' } as never)).toThrow(/mode/);
  const { read } = lock;
  await expect(read('k')).rejects.toThrow(/read/);
  expect(await scene.keys()).toEqual([]);
});
