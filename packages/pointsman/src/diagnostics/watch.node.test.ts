/** What is there in Node only: its diagnostics channels, locks on Redis, and a garbage collector that can be asked. */

import { channel } from 'node:diagnostics_channel';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { nextMacrotask } from '@pointsman/spec';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { useServer } from '../../tests/redis/scene.js';
import { KeyedMutex, Mutex, Semaphore, select } from '../sync/index.js';
import { type Deadlock, format, on, snapshot, unwatch, watch, watched } from './index.node.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

afterEach(() => expect(snapshot().primitives).toEqual([]));

test('events go to the channels of node:diagnostics_channel', async () => {
  const log: unknown[] = [];
  const listener = (message: unknown, name: string | symbol) => {
    log.push([name, (message as { operation: string }).operation]);
  };
  const channels = ['wait', 'acquire', 'release'].map((name) => channel(`pointsman:${name}`));
  for (const each of channels) each.subscribe(listener);
  const mutex = watched(new Mutex());
  const lock = await mutex.lock();
  const waiter = mutex.lock();
  await null;
  lock.release();
  (await waiter).release();
  for (const each of channels) each.unsubscribe(listener);
  unwatch(mutex);
  expect(log).toEqual([
    ['pointsman:acquire', 'lock'],
    ['pointsman:wait', 'lock'],
    ['pointsman:release', 'lock'],
    ['pointsman:acquire', 'lock'],
    ['pointsman:release', 'lock'],
  ]);
});

test('a deadlock is printed if there is no listener', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const mutex = watched(new Mutex(), { name: 'ledger' });
  const twice = async () => {
    using _ = await mutex.lock();
    await mutex.lock();
  };
  twice().catch(() => {});
  await vi.waitFor(() => expect(warn).toHaveBeenCalledOnce(), 5_000);
  expect(warn.mock.calls[0]?.[0]).toMatch(/^deadlock: one waits for itself\n1\. twice \(/);
  mutex.cancel();
  unwatch(mutex);
  warn.mockRestore();
});

test('an unhandled rejection of a watched wait is reported like that of an unwatched one', async () => {
  const rejected: unknown[] = [];
  const listeners = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', (reason) => rejected.push(reason));
  try {
    const mutex = watched(new Mutex());
    const lock = mutex.tryLock();
    void mutex.lock();
    mutex.lock().catch(() => {});
    mutex.cancel('why');
    await nextMacrotask();
    await nextMacrotask();
    expect(rejected).toEqual(['why']);
    lock?.release();
    unwatch(mutex);
  } finally {
    process.removeAllListeners('unhandledRejection');
    for (const listener of listeners) process.on('unhandledRejection', listener);
  }
});

test('a select of watched waits takes one, and the others leave', async () => {
  const a = watched(new Mutex(), { name: 'a' });
  const b = watched(new Semaphore(1), { name: 'b' });
  using lock = await a.lock();
  const selected = await select({
    a: (only) => a.lock(only),
    b: (only) => b.acquire(only),
  });
  expect(selected.key).toBe('b');
  await nextMacrotask();
  expect(
    snapshot().primitives.map(({ holders, waiters }) => [holders.length, waiters.length]),
  ).toEqual([
    [1, 0],
    [1, 0],
  ]);
  selected.value.release();
  lock.release();
  for (const each of [a, b]) unwatch(each);
});

describe('memory', () => {
  const live = (references: readonly WeakRef<object>[]) =>
    references.filter((reference) => reference.deref() !== undefined).length;

  test('what is watched and forgotten is collected, with holders and waiters that never go on', async () => {
    const references = Array.from({ length: 50 }, (_, n) => {
      const mutex = watched(new Mutex(), { name: `forgotten ${n}`, heldTooLong: 60_000 });
      const twice = async () => {
        using _ = await mutex.lock();
        await mutex.lock();
      };
      const off = on('deadlock', () => {});
      twice().catch(() => {});
      off();
      return new WeakRef(mutex);
    });
    const off = on('deadlock', () => {});
    await vi.waitFor(async () => {
      await nextMacrotask();
      collect();
      expect(live(references)).toBeLessThanOrEqual(1);
    }, 10_000);
    await vi.waitFor(() => expect(snapshot().primitives.length).toBeLessThanOrEqual(1), 5_000);
    off();
    // The last may still be on the stack.
    await vi.waitFor(async () => {
      await nextMacrotask();
      collect();
      expect(snapshot().primitives).toEqual([]);
    }, 10_000);
  });

  test('of many locks and unlocks nothing stays', async () => {
    const keyed = watched(new KeyedMutex<number>());
    const round = async () => {
      for (let i = 0; i < 500; i++) {
        using _ = await keyed.lock(i);
        await keyed.run(i + 1, () => {});
      }
      await nextMacrotask();
      collect();
      return process.memoryUsage().heapUsed;
    };
    await round();
    const before = await round();
    const after = await round();
    expect(after - before).toBeLessThan(500_000);
    expect(snapshot().primitives[0]).toMatchObject({ holders: [], waiters: [] });
    unwatch(keyed);
  });
});

describe('SharedMutex', () => {
  const scene = useServer();

  test('holders, waiters, losses and deadlocks are seen, with all keys', async () => {
    const mutex = await scene.process({ handler: 'script', mode: 'local' });
    watch(mutex, { name: 'redis' });
    const local = watched(new Mutex(), { name: 'local' });
    const found: Deadlock[] = [];
    const off = on('deadlock', (deadlock) => found.push(deadlock));

    const guard = await mutex.lock(['a', 'b'], { owner: 'me', reentrant: true });
    const again = await mutex.lock('b', { owner: 'me', reentrant: true });
    const waiter = mutex.run(['b', 'c'], () => 'done');
    const tried = await mutex.tryLock('d');
    expect(await mutex.tryLock('a')).toBeUndefined();
    const [redis] = snapshot().primitives;
    expect(redis?.kind).toBe('SharedMutex');
    expect(redis?.holders.map(({ keys, owner }) => [keys, owner])).toEqual([
      [['"a"', '"b"'], '"me"'],
      [['"b"'], '"me"'],
      [['"d"'], undefined],
    ]);
    expect(redis?.waiters.map(({ keys }) => keys)).toEqual([['"b"', '"c"']]);
    await guard.release();
    await Promise.all([again.release(), tried?.[Symbol.asyncDispose]()]);
    expect(await waiter).toBe('done');
    expect(snapshot().primitives[0]).toMatchObject({ holders: [], waiters: [] });

    const lost = await mutex.lock('a');
    await mutex.forceUnlock('a');
    await vi.waitFor(() => expect(lost.valid).toBe(false), 5_000);
    expect(snapshot().primitives[0]?.holders).toEqual([]);

    const first = async () => {
      await using _ = await mutex.lock(['x', 'y']);
      await local.lock();
    };
    const second = async () => {
      using _ = await local.lock();
      await using __ = await mutex.lock(['y', 'z']);
    };
    first().catch(() => {});
    second().catch(() => {});
    await vi.waitFor(() => expect(found).toHaveLength(1), 5_000);
    expect(format(found[0] as Deadlock)).toContain('SharedMutex redis "x", "y", lock()');
    off();
    local.cancel();
    for (const each of [mutex, local]) unwatch(each);
    expect(Object.getOwnPropertyNames(mutex)).not.toContain('lock');
  });
});
