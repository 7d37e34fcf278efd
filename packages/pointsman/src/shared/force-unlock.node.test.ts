/** `forceUnlock` takes locks from their holders. */
import { describe, expect, test } from 'vitest';
import {
  everyWay,
  soon,
  storeWays,
  untilHeld,
  untilWaiting,
  useServer,
  watch,
} from '../../tests/redis/scene.js';
import { ClosedError, LockLostError, type SharedGuard } from './index.js';

const scene = useServer();

function expectTaken(guard: SharedGuard) {
  expect(guard).toMatchObject({ valid: false, released: false });
  expect(guard.signal.reason).toBeInstanceOf(LockLostError);
  expect(guard.signal.reason.message).toMatch(/taken by forceUnlock/);
}

describe.each(everyWay)('$handler, $mode', (way) => {
  test('the next waiter gets the lock with a higher token, and the signal of the holder aborts', async () => {
    const [a, b, operator] = [
      await scene.process({ ...way, name: 'loser' }),
      await scene.process(way),
      await scene.process(way),
    ];
    const guard = await a.lock(['k', 'l']);
    const other = await a.lock('other');
    const waiter = watch(b.lock('k'));
    await untilWaiting(operator, 1);
    const { held } = await operator.query();
    const taken = await operator.forceUnlock('k');
    expect(taken).toEqual(held.filter(({ keys }) => keys.includes('k')));
    expect(taken.map(({ keys }) => keys)).toEqual([['k', 'l']]);
    const next = await waiter.promise;
    expect(next.token).toBeGreaterThan(guard.token);
    await expect.poll(() => guard.valid, soon).toBe(false);
    expectTaken(guard);
    expect(guard.signal.reason.message).toMatch(/^loser: /);
    await expect(guard.extend()).rejects.toBe(guard.signal.reason);
    await guard.release();
    expect([next.valid, other.valid]).toEqual([true, true]);
    await untilHeld(operator, 'k', 'other');
    expect(a.metrics.losses).toBe(1);
  });

  test('takes a lock of its own process with waiters behind it', async () => {
    const mutex = await scene.process(way);
    const guard = await mutex.lock('k');
    const [second, third] = [watch(mutex.lock('k')), watch(mutex.lock('k'))];
    await untilWaiting(mutex, 2);
    expect(await mutex.forceUnlock(['k', 'k', 'unknown'])).toHaveLength(1);
    const next = await second.promise;
    await expect.poll(() => guard.valid, soon).toBe(false);
    expectTaken(guard);
    expect(next.token).toBeGreaterThan(guard.token);
    expect(third.state).toBe('pending');
    await next.release();
    expect((await third.promise).token).toBeGreaterThan(next.token);
  });

  test('free keys are not taken, and waiting requests keep their place', async () => {
    const [a, b] = [await scene.process(way), await scene.process(way)];
    expect(await a.forceUnlock(['k', 'l'])).toEqual([]);
    const guard = await a.lock('k');
    const waiter = watch(b.lock(['k', 'l']));
    await untilWaiting(a, 1);
    expect(await a.forceUnlock('l')).toEqual([]);
    expect(guard.valid).toBe(true);
    await guard.release();
    expect((await waiter.promise).valid).toBe(true);
  });

  test('the abort listener of the holder may lock the same keys', async () => {
    const mutex = await scene.process(way);
    const guard = await mutex.lock(['k', 'l']);
    const again = new Promise<SharedGuard>((resolve) => {
      guard.signal.addEventListener('abort', () => resolve(mutex.lock(['k', 'l'])));
    });
    await mutex.forceUnlock('k');
    const next = await again;
    expect(next.token).toBeGreaterThan(guard.token);
    await next.release();
    expect(await mutex.run('k', ({ valid }) => valid)).toBe(true);
    expect(mutex.waiting).toBe(0);
    await untilHeld(mutex);
  });

  test('takes several locks at once', async () => {
    const [a, b] = [await scene.process(way), await scene.process(way)];
    const guards = [await a.lock('k'), await b.lock('l'), await b.lock('m')];
    expect((await a.forceUnlock(['k', 'l', 'n'])).map(({ keys }) => keys)).toEqual([['k'], ['l']]);
    await expect.poll(() => guards.map(({ valid }) => valid), soon).toEqual([false, false, true]);
    await untilHeld(a, 'm');
  });
});

describe.each(storeWays)('$handler, $mode', (way) => {
  /** Of what a server, or the way there, can suffer. */
  const onServer = test.skipIf(way.handler === 'host');
  onServer('after a lost message the heartbeat detects the loss', async () => {
    const { proxy, mutex } = await scene.disturbed(way);
    const other = await scene.process(way);
    const guard = await mutex.lock('k');
    proxy.holdReplies();
    expect(await other.forceUnlock('k')).toHaveLength(1);
    const next = await other.lock('k');
    proxy.cut();
    proxy.letGo();
    await expect.poll(() => guard.signal.reason, soon).toBeInstanceOf(LockLostError);
    expect(next.valid).toBe(true);
  });

  onServer('a lock whose grant and loss arrive together is not handed out', async () => {
    const { proxy, mutex } = await scene.disturbed(way);
    const [other, operator] = [await scene.process(way), await scene.process(way)];
    const guard = await other.lock('k');
    const entered: boolean[] = [];
    const section = mutex.run('k', ({ valid }) => entered.push(valid));
    await untilWaiting(other, 1);
    proxy.holdReplies();
    await guard.release();
    await expect.poll(() => operator.forceUnlock('k'), soon).toHaveLength(1);
    proxy.letGo();
    await section;
    expect(entered).toEqual([true]);
    expect(mutex.metrics).toMatchObject({ grants: 1, losses: 0 });
  });

  test('rejects bad keys, and any call after close', async () => {
    const mutex = await scene.process(way);
    for (const keys of ['', [], [1], undefined]) {
      await expect(mutex.forceUnlock(keys as never)).rejects.toThrow(/^keys/);
    }
    await mutex.close();
    await expect(mutex.forceUnlock('k')).rejects.toThrow(ClosedError);
  });
});
