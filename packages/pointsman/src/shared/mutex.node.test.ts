/** The methods of the mutex and of its guards, with both libraries, both handlers and both modes. */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  soon,
  storeWays,
  untilHeld,
  untilWaiting,
  useServer,
  watch,
} from '../../tests/redis/scene.js';
import {
  ClosedError,
  LockLostError,
  ReentrancyError,
  type SharedGuard,
  type SharedMutex,
  TimeoutError,
} from './index.js';

const scene = useServer();

describe.each(storeWays)('$handler, $mode', (way) => {
  /** Of what a server, or the way there, can suffer. */
  const onServer = test.skipIf(way.handler === 'host');
  test('a lock is held until it is released', async () => {
    const mutex = await scene.process(way);
    const guard = await mutex.lock('a');
    expect(guard).toMatchObject({ keys: ['a'], valid: true, released: false });
    expect(Number.isSafeInteger(guard.token) && guard.token > 0).toBe(true);
    expect(guard.signal.aborted).toBe(false);
    expect(() => guard.assertValid()).not.toThrow();
    await untilHeld(mutex, 'a');
    await guard.release();
    expect(guard).toMatchObject({ valid: false, released: true });
    expect(guard.signal.aborted).toBe(false);
    await untilHeld(mutex);
  });

  test('keys are sorted and locked once each', async () => {
    const mutex = await scene.process(way);
    const guard = await mutex.lock(['b', 'a', 'b', 'c']);
    expect(guard.keys).toEqual(['a', 'b', 'c']);
    await untilHeld(mutex, 'a', 'b', 'c');
  });

  test('a list of keys is copied at the call', async () => {
    const mutex = await scene.process(way);
    for (const given of [['a'], ['a', 'b']]) {
      const keys = [...given];
      const locked = mutex.lock(given);
      given.fill('z');
      const guard = await locked;
      expect(guard.keys).toEqual(keys);
      await untilHeld(mutex, ...keys);
      await guard.release();
      await untilHeld(mutex);
    }
  });

  test('one task of all processes at a time holds the lock', async () => {
    const processes = await Promise.all([1, 2, 3].map(() => scene.process(way)));
    await processes[0]?.query();
    let inside = 0;
    let count = 0;
    const work = async (mutex: SharedMutex) => {
      for (let i = 0; i < 5; i++) {
        await mutex.run(['a', `${i % 2}`], async (guard) => {
          expect(++inside).toBe(1);
          await delay(1);
          expect(guard.valid).toBe(true);
          inside--;
          count++;
        });
      }
    };
    await Promise.all(processes.flatMap((mutex) => [1, 2, 3].map(() => work(mutex))));
    expect(count).toBe(45);
  });

  test('a release serves the next waiter, in this and another process', async () => {
    const [here, elsewhere] = [await scene.process(way), await scene.process(way)];
    const first = await here.lock('a');
    const second = watch(here.lock('a'));
    const third = watch(elsewhere.lock('a'));
    await expect.poll(async () => (await here.query()).waiting.length, soon).toBeGreaterThan(0);
    expect([second.state, third.state]).toEqual(['pending', 'pending']);
    await first.release();
    await Promise.race([second.promise, third.promise]);
    const [next, last] = second.state === 'fulfilled' ? [second, third] : [third, second];
    expect(last.state).toBe('pending');
    await next.value?.release();
    expect((await last.promise).valid).toBe(true);
  });

  test('tryLock locks free keys, and otherwise changes nothing', async () => {
    const [here, elsewhere] = [await scene.process(way), await scene.process(way)];
    const guard = (await here.tryLock(['a', 'b'])) as SharedGuard;
    expect(guard).toMatchObject({ keys: ['a', 'b'], valid: true });
    expect(await here.tryLock('a')).toBeUndefined();
    expect(await elsewhere.tryLock(['b', 'c'])).toBeUndefined();
    await untilHeld(here, 'a', 'b');
    expect(await elsewhere.tryLock('c')).toMatchObject({ keys: ['c'] });
    await guard.release();
    await expect.poll(() => elsewhere.tryLock(['a', 'b']), soon).toMatchObject({ valid: true });
  });

  test('a failed try is not granted later', async () => {
    const observer = await scene.process(way);
    for (let i = 0; i < 5; i++) {
      const held = await observer.lock('a');
      // The first request of a process may be sent twice.
      const mutex = await scene.process(way);
      expect(await mutex.tryLock(['a', 'b'])).toBeUndefined();
      await held.release();
      await untilHeld(observer);
      await mutex.query();
      await untilHeld(observer);
    }
  });

  test('run resolves to the result of the function and releases the lock', async () => {
    const mutex = await scene.process(way);
    const guards: SharedGuard[] = [];
    const result = await mutex.run('a', async (guard) => {
      guards.push(guard);
      return `${guard.keys}`;
    });
    expect(result).toBe('a');
    expect(guards[0]?.released).toBe(true);
    expect(await mutex.run('a', () => 'at once')).toBe('at once');
    await untilHeld(mutex);
  });

  test('run rejects with the error of the function and releases the lock', async () => {
    const mutex = await scene.process(way);
    const error = new Error('mine');
    const thrown = () => {
      throw error;
    };
    await expect(mutex.run('a', () => Promise.reject(error))).rejects.toBe(error);
    await expect(mutex.run('a', thrown)).rejects.toBe(error);
    await untilHeld(mutex);
  });

  test('wrap locks the keys computed from the arguments', async () => {
    const mutex = await scene.process(way);
    const sum = mutex.wrap(
      (a: string, b: string) => [a, b],
      async (a, b) => `${a}+${b}`,
    );
    const held = await mutex.lock('x');
    const blocked = watch(sum('x', 'y'));
    expect(await sum('v', 'w')).toBe('v+w');
    expect(blocked.state).toBe('pending');
    await held.release();
    expect(await blocked.promise).toBe('x+y');
    const fixed = mutex.wrap('k', () => mutex.tryLock('k'), { timeout: 1_000 });
    expect(await fixed()).toBeUndefined();
    await untilHeld(mutex);
  });

  test('a wait rejects after its timeout', async () => {
    const [here, elsewhere] = [await scene.process(way), await scene.process(way)];
    const guard = await here.lock('a');
    await expect(here.lock('a', { timeout: 20 })).rejects.toThrow(TimeoutError);
    await expect(elsewhere.lock('a', { timeout: 20 })).rejects.toThrow('timed out after 20 ms');
    await untilHeld(here, 'a');
    expect(guard.valid).toBe(true);
  });

  test('query returns holders and waiters in order', async () => {
    const [a, b] = [
      await scene.process({ ...way, name: 'ann' }),
      await scene.process({ ...way, name: 'bob' }),
    ];
    const first = await a.lock(['x', 'y']);
    void watch(b.lock('y'));
    await untilWaiting(a, 1);
    void watch(b.lock(['x', 'z']));
    await untilWaiting(a, 2);
    const { held, waiting } = await a.query();
    expect(held).toEqual([
      {
        keys: ['x', 'y'],
        session: expect.stringMatching(/^ann-/),
        id: expect.any(String),
        token: expect.any(Number),
      },
    ]);
    expect(held[0]?.token).toBeLessThanOrEqual(first.token);
    expect(waiting.map(({ keys }) => keys)).toEqual([['y'], ['x', 'z']]);
    expect(waiting[0]).toMatchObject({
      session: expect.stringMatching(/^bob-/),
      condition: undefined,
    });
    expect(waiting[0]?.id).not.toBe(waiting[1]?.id);
    await first.release();
  });

  test('metrics count waits, holds, hand-overs, grants and batches', async () => {
    const mutex = await scene.process(way);
    expect(mutex.metrics).toEqual({
      wait: { count: 0, mean: 0, p50: 0, p99: 0, max: 0 },
      hold: { count: 0, mean: 0, p50: 0, p99: 0, max: 0 },
      handOffs: 0,
      grants: 0,
      revocations: 0,
      losses: 0,
      batches: 0,
      malformedMessages: 0,
    });
    const before = mutex.metrics;
    await Promise.all([1, 2, 3].map(() => mutex.run('a', () => delay(5))));
    const { wait, hold, handOffs, grants, batches } = mutex.metrics;
    expect(wait.count).toBe(3);
    expect(hold.count).toBe(3);
    expect(hold.p50).toBeGreaterThan(3);
    expect(wait.max).toBeGreaterThan(hold.p50);
    expect({ handOffs, grants }).toEqual(
      way.mode === 'local' ? { handOffs: 2, grants: 1 } : { handOffs: 0, grants: 3 },
    );
    expect(batches).toBeGreaterThan(0);
    expect(before.wait.count).toBe(0);
  });

  test('close releases all locks and rejects all waiters', async () => {
    const [closing, other] = [await scene.process(way), await scene.process(way)];
    const held = await closing.lock(['a', 'b']);
    const here = watch(closing.lock('a'));
    const there = watch(other.lock('b'));
    await expect.poll(async () => (await other.query()).waiting.length, soon).toBeGreaterThan(0);
    await Promise.all([closing.close(), closing.close()]);
    expect(here.reason).toBeInstanceOf(ClosedError);
    expect(held).toMatchObject({ valid: false, released: false });
    // On one machine the server closes too: the lock is in doubt until the process has connected to the next one.
    const next = await there.promise;
    await expect.poll(() => next.valid, soon).toBe(true);
    await untilHeld(other, 'b');
    await expect(closing.lock('c')).rejects.toThrow(ClosedError);
    await expect(closing.tryLock('c')).rejects.toThrow(ClosedError);
    await expect(closing.run('c', () => expect.unreachable())).rejects.toThrow(ClosedError);
    await held.release();
  });

  onServer('after the last close nothing is left on the server, and no connection', async () => {
    const connections = async () =>
      String(await scene.server.command('CLIENT', 'LIST'))
        .trim()
        .split('\n').length;
    const [a, b] = [await scene.process(way), await scene.process(way)];
    const before = await connections();
    await a.lock('a');
    void watch(b.lock('a'));
    await untilWaiting(a, 1);
    expect(await scene.keys()).not.toEqual([]);
    await b.close();
    await a.close();
    expect(await scene.keys()).toEqual([]);
    await expect.poll(connections, soon).toBe(before);
  });

  test('await using releases the lock and shuts down the mutex', async () => {
    const observer = await scene.process(way);
    {
      await using mutex = await scene.process(way);
      {
        await using guard = await mutex.lock('a');
        expect(guard.valid).toBe(true);
      }
      await untilHeld(observer);
      const last = await mutex.lock('b');
      void untilHeld(observer, 'b').then(last.release);
    }
    await untilHeld(observer);
  });

  test('a second release does not affect the next holder', async () => {
    const [here, elsewhere] = [await scene.process(way), await scene.process(way)];
    const first = await here.lock('a');
    await Promise.all([first.release(), first.release()]);
    const second = await elsewhere.lock('a');
    const third = watch(here.lock('a'));
    await untilWaiting(here, 1);
    await first.release();
    await first[Symbol.asyncDispose]();
    await untilWaiting(here, 1);
    expect(second.valid).toBe(true);
    expect(third.state).toBe('pending');
    expect(here.metrics.hold.count).toBe(1);
    await second.release();
    await (await third.promise).release();
  });

  test('a released guard is not valid and cannot be extended', async () => {
    const mutex = await scene.process(way);
    const guard = await mutex.lock('a');
    await guard.extend();
    expect(guard.valid).toBe(true);
    await guard.release();
    expect(() => guard.assertValid()).toThrow(LockLostError);
    expect(() => guard.assertValid()).toThrow('it has been released');
    await expect(guard.extend()).rejects.toThrow(LockLostError);
  });

  test('an owner that requests a key it holds rejects, with the process and the token', async () => {
    const mutex = await scene.process({ ...way, name: 'ann' });
    const owner = { name: 'me' };
    const guard = await mutex.lock(['a', 'b'], { owner });
    const error = await mutex.lock(['b', 'c'], { owner }).catch((reason) => reason);
    expect(error).toBeInstanceOf(ReentrancyError);
    expect(error).toMatchObject({ owner });
    expect(error.message).toMatch(/"b"/);
    expect(error.message).toMatch(/\bann-/);
    expect(error.message).toContain(`token ${guard.token}`);
    await expect(mutex.tryLock('a', { owner })).rejects.toThrow(ReentrancyError);
    await expect(mutex.lock('a', { owner: 'me', timeout: 0 })).rejects.toThrow(TimeoutError);
    expect(await mutex.tryLock('c', { owner })).toMatchObject({ keys: ['c'] });
    await guard.release();
    expect(await mutex.lock('a', { owner })).toMatchObject({ keys: ['a'] });
    await expect(mutex.lock('a', { owner: 'x', timeout: 0 })).rejects.toThrow(TimeoutError);
  });

  test('an owner may wait twice', async () => {
    const mutex = await scene.process(way);
    const holder = await mutex.lock('a', { owner: 'ann' });
    const waiters = [mutex.lock('a', { owner: 'bob' }), mutex.lock('a', { owner: 'bob' })];
    await holder.release();
    for (const waiter of waiters) await (await waiter).release();
  });

  test('a key may be any text', async () => {
    const mutex = await scene.process(way);
    const other = await scene.process(way);
    const keys = [' ', '{a}', '}', 'a:b', '__proto__', '\0', '"', '\\', 'ключ', '🔑', 'a b', '0'];
    const guard = await mutex.lock(keys);
    for (const key of keys) expect(await other.tryLock(key), key).toBeUndefined();
    await untilHeld(mutex, ...[...keys].sort());
    const waiter = other.lock(keys);
    await untilWaiting(mutex, 1);
    await guard.release();
    await (await waiter).release();
    await untilHeld(other);
  });

  test('1,000 keys are one lock', async () => {
    const [mutex, other] = [await scene.process(way), await scene.process(way)];
    const keys = Array.from({ length: 1_000 }, (_, n) => `key-${n}`);
    const guard = await mutex.lock(keys);
    expect(guard.keys).toHaveLength(1_000);
    const waiter = watch(other.lock([...keys].reverse()));
    await untilWaiting(mutex, 1);
    expect(waiter.state).toBe('pending');
    await guard.release();
    expect((await waiter.promise).keys).toEqual(guard.keys);
  });
});
