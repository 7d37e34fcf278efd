/** `maxHold` ends a lock. */
import { describe, expect, test } from 'vitest';
import {
  everyWay,
  soon,
  untilHeld,
  untilWaiting,
  useServer,
  watch,
} from '../../tests/redis/scene.js';
import { LockLostError, type SharedGuard } from './index.js';

const scene = useServer();

function expectTooLong(guard: SharedGuard) {
  expect(guard).toMatchObject({ valid: false, released: false });
  expect(guard.signal.reason).toBeInstanceOf(LockLostError);
  expect(guard.signal.reason.message).toMatch(/held for longer than maxHold, \d+ ms$/);
  expect(() => guard.assertValid()).toThrow(guard.signal.reason);
}

describe.each(everyWay)('$handler, $mode', (way) => {
  test('the next request gets the lock, in this and another process, and the signal says why', async () => {
    const [a, b] = [await scene.process({ ...way, name: 'a' }), await scene.process(way)];
    const guard = await a.lock(['k', 'l'], { maxHold: 40 });
    const { signal } = guard;
    const [here, there] = [watch(a.lock('k')), watch(b.lock('l'))];
    for (const { promise } of [here, there]) {
      const next = await promise;
      expect(next.token).toBeGreaterThan(guard.token);
      await next.release();
    }
    expect(signal.aborted).toBe(true);
    expectTooLong(guard);
    expect(signal.reason.message).toMatch(/^a: /);
    await expect(guard.extend()).rejects.toBe(signal.reason);
    await guard.release();
    expectTooLong(guard);
    expect(a.metrics).toMatchObject({ losses: 1, hold: { count: 2 } });
    await untilHeld(b);
  });

  test('after a suspension the guard is lost at the first check', async () => {
    const mutex = await scene.process(way);
    const guard = await mutex.lock('k', { maxHold: 20 });
    for (const end = performance.now() + 21; performance.now() < end; );
    expect(guard.valid).toBe(false);
    expectTooLong(guard);
    await untilHeld(mutex);
  });

  test('begins with the grant, and again after a wait at a condition', async () => {
    const mutex = await scene.process(way);
    const first = await mutex.lock('k');
    const asked = performance.now();
    const second = mutex.lock('k', { maxHold: 300 });
    await expect.poll(() => performance.now() - asked, soon).toBeGreaterThan(300);
    await first.release();
    const guard = await second;
    expect(guard.valid).toBe(true);
    const waiter = watch(mutex.condition('c').wait(guard, { timeout: 400 }));
    await untilWaiting(mutex, 1);
    await waiter.promise;
    expect(guard.valid).toBe(true);
    await expect.poll(() => guard.valid, soon).toBe(false);
    expectTooLong(guard);
  });

  test('ends with the release, and bounds all guards of an owner', async () => {
    const mutex = await scene.process(way);
    const early = await mutex.lock('k', { maxHold: 30 });
    await early.release();
    const owner = 'somebody';
    const outer = await mutex.lock('k', { owner, maxHold: 60 });
    const inner = await mutex.lock('k', { owner, reentrant: true, maxHold: 60_000 });
    await expect.poll(() => inner.valid, soon).toBe(false);
    expectTooLong(inner);
    expectTooLong(outer);
    expect(early).toMatchObject({ released: true });
    expect(early.signal.aborted).toBe(false);
    expect(mutex.metrics.losses).toBe(1);
  });

  test('accepts any duration', async () => {
    const mutex = await scene.process(way);
    for (const maxHold of [0.5, Number.POSITIVE_INFINITY, 2 ** 40]) {
      await (await mutex.lock('k', { maxHold })).release();
    }
    await untilHeld(mutex);
  });
});
