/** `query` returns holders and waiters, of this process and of others, in order. */
import { describe, expect, test } from 'vitest';
import { everyWay, untilWaiting, useServer, watch } from '../../tests/redis/scene.js';
import type { SharedMutex } from './index.js';

const scene = useServer();
const waitingKeys = async (mutex: SharedMutex) =>
  (await mutex.query()).waiting.map(({ keys }) => keys.join(' '));

describe.each(everyWay)('$handler, $mode', (way) => {
  test('waiters of this process are shown in the order of the calls', async () => {
    const mutex = await scene.process(way);
    const guard = await mutex.lock(['a', 'b']);
    const waiters = [['a'], ['b', 'c'], ['a', 'c'], ['b']].map((keys) => mutex.lock(keys));
    const { held, waiting } = await mutex.query();
    expect(held.map(({ keys }) => keys)).toEqual([['a', 'b']]);
    expect(waiting.map(({ keys }) => keys.join(' '))).toEqual(['a', 'b c', 'a c', 'b']);
    for (const { session, condition } of waiting) {
      expect(session).toBe(held[0]?.session);
      expect(condition).toBeUndefined();
    }
    void guard.release();
    for (const [n, waiter] of waiters.entries()) {
      const next = await waiter;
      expect(await waitingKeys(mutex)).not.toContain(next.keys.join(' '));
      expect((await mutex.query()).waiting.length).toBeLessThanOrEqual(3 - n);
      await next.release();
    }
    expect(await mutex.query()).toMatchObject({ waiting: [] });
  });

  test('waiters of all processes are shown once each', async () => {
    const [a, b] = [await scene.process(way), await scene.process(way)];
    const here = await a.lock('x');
    const there = await b.lock('y');
    void watch(a.lock('x'));
    void watch(a.lock(['y', 'z']));
    await untilWaiting(a, 2);
    void watch(b.lock(['x', 'w']));
    await untilWaiting(b, way.mode === 'local' ? 2 : 3);
    void watch(a.lock(['x', 'v']));
    expect(await waitingKeys(a)).toEqual(['x', 'y z', 'w x', 'v x']);
    // In the mode `local` only the process knows the waiters for keys that it owns.
    expect(await waitingKeys(b)).toEqual(
      way.mode === 'local' ? ['y z', 'w x'] : ['x', 'y z', 'w x', 'v x'],
    );
    const ids = (await a.query()).waiting.map(({ id }) => id);
    expect(ids.filter((id) => id === undefined).length).toBe(way.mode === 'local' ? 2 : 0);
    await there.release();
    await expect.poll(() => waitingKeys(b)).not.toContain('y z');
    expect(here.released).toBe(false);
  });

  test('cancelled requests and holders are not shown as waiting', async () => {
    const mutex = await scene.process(way);
    const guard = await mutex.lock('a');
    await mutex.lock('a', { timeout: 5 }).catch(() => {});
    expect(await waitingKeys(mutex)).toEqual([]);
    const next = mutex.lock('a');
    expect(await waitingKeys(mutex)).toEqual(['a']);
    await guard.release();
    await next;
    expect(await waitingKeys(mutex)).toEqual([]);
  });
});
