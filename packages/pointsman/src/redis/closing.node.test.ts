/** Closing, and what errors are called. */

import { describe, expect, test } from 'vitest';
import { soon, untilWaiting, useServer, watch, ways } from '../../tests/redis/scene.js';
import { asyncDispose } from '../sync/dispose.js';
import { ClosedError, LockLostError, TimeoutError } from './index.js';

const scene = useServer();

describe.each(ways)('$handler, $mode', (way) => {
  test('a reason is what all who wait and all who come later are refused with', async () => {
    const [mutex, other] = [await scene.process(way), await scene.process(way)];
    const child = mutex.within(`${scene.namespace}-child`);
    const [held, guard] = [await mutex.lock('a'), await mutex.lock('c')];
    await other.lock('b');
    const { signal } = held;
    const parked = watch(mutex.condition('c').wait(guard));
    const waiters = [watch(mutex.lock('a')), watch(mutex.lock('b'))];
    await untilWaiting(other, way.mode === 'local' ? 2 : 3);
    expect([mutex.closed, child.closed]).toEqual([false, false]);

    const reason = { why: 'going home' };
    const closed = mutex.close(reason);
    expect([mutex.closed, child.closed]).toEqual([true, true]);
    expect(mutex.close(new Error('too late'))).toBe(closed);
    await closed;
    for (const waiter of [...waiters, parked]) expect(waiter.reason).toBe(reason);
    const lost = { name: 'LockLostError', message: 'the mutex was closed', cause: reason };
    expect(signal.reason).toMatchObject(lost);
    expect(() => held.assertValid()).toThrow(LockLostError);
    expect(held).toMatchObject({ valid: false, released: false });
    await held.release();
    for (const each of [mutex, child]) {
      await expect(each.lock('a')).rejects.toBe(reason);
      await expect(each.tryLock('a')).rejects.toBe(reason);
      await expect(each.query()).rejects.toBe(reason);
      await expect(each.condition('c').notify()).rejects.toBe(reason);
    }
    try {
      mutex.within('more');
      expect.unreachable();
    } catch (error) {
      expect(error).toBe(reason);
    }
  });

  test('undefined is no reason; null is', async () => {
    const [first, second] = [await scene.process(way), await scene.process(way)];
    await first.close(undefined);
    await expect(first.lock('a')).rejects.toEqual(new ClosedError('the mutex is closed'));
    await second.close(null);
    await expect(second.lock('a')).rejects.toBe(null);
  });

  test('what is asked of a server that does not answer is refused with the reason too', async () => {
    const { proxy, mutex } = await scene.disturbed({ ...way, ttl: 100 });
    await mutex.query();
    proxy.holdReplies();
    const asked = watch(mutex.query());
    const reason = new Error('enough');
    await mutex.close(reason);
    await expect.poll(() => asked.reason, soon).toBe(reason);
  });

  test('a name is what messages begin with', async () => {
    const mutex = await scene.process({ ...way, name: 'orders' });
    const guard = await mutex.lock('a', { owner: 1 });
    const messageOf = (promise: Promise<unknown>) =>
      promise.then(
        () => expect.unreachable(),
        (error) => `${error.name}: ${error.message}`,
      );
    const timeouts = [mutex.lock('a', { timeout: 0 }), mutex.lock('a', { timeout: 1.5 })];
    expect(await Promise.all(timeouts.map(messageOf))).toEqual([
      'TimeoutError: orders: timed out after 0 ms',
      'TimeoutError: orders: timed out after 1.5 ms',
    ]);
    expect(await messageOf(mutex.lock('a', { owner: 1 }))).toMatch(/^ReentrancyError: orders: /);
    await scene.server.command('DEL', `{${scene.namespace}}:state`);
    expect(await messageOf(guard.extend().then(() => guard.extend()))).toMatch(
      /^LockLostError: orders: the server no longer/,
    );
    await mutex.close();
    expect(await messageOf(mutex.lock('a'))).toBe('ClosedError: orders: the mutex is closed');
  });

  test('any timeout may be given', async () => {
    const mutex = await scene.process(way);
    for (const timeout of [0, 2 ** 31, 2 ** 40, Number.POSITIVE_INFINITY]) {
      expect(await mutex.run('a', () => 'held', { timeout })).toBe('held');
    }
    const guard = await mutex.lock('a');
    await expect(mutex.lock('a', { timeout: 0.25 })).rejects.toThrow(TimeoutError);
    const waiter = watch(mutex.lock('a', { timeout: 2 ** 40 }));
    const condition = mutex.condition('c');
    const { token } = guard;
    expect(await condition.wait(guard, { timeout: 0 })).toBe(false);
    expect(guard).toMatchObject({ token, valid: true });
    expect(waiter.state).toBe('pending');
    void waiter.promise.then((next) => next.release());
    expect(await condition.wait(guard, { timeout: 0.5 })).toBe(false);
    expect(guard.token).toBeGreaterThan(token);
  });

  test('is disposable with the symbols that compilers fall back to', async () => {
    const mutex = await scene.process(way);
    const guard = await mutex.lock('a');
    await guard[asyncDispose]();
    expect(guard.released).toBe(true);
    await mutex[asyncDispose]();
    expect(mutex.closed).toBe(true);
  });
});
