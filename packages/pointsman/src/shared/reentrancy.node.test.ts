/** `reentrant`: an owner gets several guards of one lock. */
import { describe, expect, test } from 'vitest';
import {
  everyWay,
  soon,
  untilHeld,
  untilWaiting,
  useServer,
  watch,
} from '../../tests/redis/scene.js';
import { LockLostError, ReentrancyError } from './index.js';

const scene = useServer();

describe.each(everyWay)('$handler, $mode', (way) => {
  const owner = { name: 'somebody' };
  const again = { owner, reentrant: true };

  test('gets another guard of the lock, which is released with the last guard', async () => {
    const [mutex, other] = [await scene.process(way), await scene.process(way)];
    const outer = await mutex.lock(['a', 'b'], { owner });
    const next = watch(other.lock('a'));
    await untilWaiting(other, 1);
    const inner = await mutex.lock(['b', 'a'], again);
    const part = await mutex.tryLock('b', again);
    expect([inner.keys, part?.keys]).toEqual([['a', 'b'], ['b']]);
    expect([inner.token, part?.token]).toEqual([outer.token, outer.token]);
    expect(mutex.metrics).toMatchObject({ wait: { count: 1 }, grants: 1 });
    await inner.extend();

    await Promise.all([outer.release(), outer.release()]);
    expect(outer).toMatchObject({ valid: false, released: true });
    expect(() => outer.assertValid()).toThrow(/released/);
    expect(inner).toMatchObject({ valid: true, released: false });
    await inner.release();
    await other.query();
    expect(next.state).toBe('pending');
    expect(mutex.metrics.hold.count).toBe(0);
    await part?.release();
    const guard = await next.promise;
    expect(guard.token).toBeGreaterThan(outer.token);
    expect(mutex.metrics.hold.count).toBe(1);
    expect([outer, inner, part].map((each) => each?.signal.aborted)).toEqual([false, false, false]);
  });

  test('guards may be released in any order, and the lock may be shared again meanwhile', async () => {
    const mutex = await scene.process(way);
    const outer = await mutex.lock('a', { owner });
    const inner = await mutex.lock('a', again);
    await outer.release();
    const third = await mutex.lock('a', again);
    expect(third).toMatchObject({ token: outer.token, valid: true });
    await inner.release();
    expect(third.valid).toBe(true);
    await third.release();
    await untilHeld(mutex);
  });

  test('rejects when the lock is lost', async () => {
    const mutex = await scene.process(way);
    const guard = await mutex.lock('a', { owner, maxHold: 20 });
    for (const end = performance.now() + 21; performance.now() < end; );
    await expect(mutex.lock('a', again)).rejects.toThrow(LockLostError);
    expect(guard.valid).toBe(false);
    expect((await mutex.lock('a', again)).token).toBeGreaterThan(guard.token);
  });

  test('the first request may use the option, and blocks release the guards', async () => {
    const mutex = await scene.process(way);
    const inside = await mutex.run(
      'a',
      ({ token }) => mutex.run('a', (inner) => inner.token === token, { ...again, timeout: 0 }),
      again,
    );
    expect(inside).toBe(true);
    await untilHeld(mutex);
  });

  test('rejects without the option, and for keys of more than one lock', async () => {
    const mutex = await scene.process({ ...way, name: 'here' });
    await mutex.lock('a', { owner });
    await mutex.lock('b', { owner });
    await expect(mutex.lock('a', { owner })).rejects.toThrow(ReentrancyError);
    for (const keys of [
      ['a', 'b'],
      ['a', 'c'],
    ]) {
      const error = await mutex.lock(keys, again).catch((error) => error);
      expect(error).toBeInstanceOf(ReentrancyError);
      expect(error.owner).toBe(owner);
      expect(error.message).toMatch(/^here: owner object .* but not all of the keys by that lock$/);
    }
    expect(await mutex.tryLock('a', { owner: {}, reentrant: true })).toBeUndefined();
    await untilHeld(mutex, 'a', 'b');
  });

  test('one of several guards cannot wait at a condition', async () => {
    const mutex = await scene.process(way);
    const outer = await mutex.lock('a', { owner });
    const inner = await mutex.lock('a', again);
    const condition = mutex.condition('c');
    await expect(condition.wait(inner)).rejects.toThrow(ReentrancyError);
    await outer.release();
    const waiter = watch(condition.wait(inner));
    await untilWaiting(mutex, 1);
    expect(inner.valid).toBe(false);
    await mutex.run('a', () => condition.notify());
    expect(await waiter.promise).toBe(true);
    expect(inner.token).toBeGreaterThan(outer.token);
    expect(await mutex.lock('a', again)).toMatchObject({ token: inner.token, valid: true });
  });

  test('all guards are lost together, also by close', async () => {
    const mutex = await scene.process(way);
    const released = await mutex.lock('a', { owner });
    const guards = [await mutex.lock('a', again), await mutex.lock('a', again)];
    await released.release();
    await scene.server.command('DEL', `{${scene.namespace}}:state`);
    await expect.poll(() => guards.map(({ valid }) => valid), soon).toEqual([false, false]);
    for (const { signal } of guards) expect(signal.reason).toBeInstanceOf(LockLostError);
    expect(released.signal.aborted).toBe(false);

    const outer = await mutex.lock('b', { owner });
    const inner = await mutex.lock('b', again);
    await mutex.close();
    for (const guard of [outer, inner]) {
      expect(guard).toMatchObject({ valid: false, released: false });
      expect(guard.signal.reason).toBeInstanceOf(LockLostError);
    }
  });
});
