/** No timer overflows, however long the leases are: the platform would fire such a timer at once, repeatedly. */
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { everyWay, untilWaiting, useServer, watch } from '../../tests/redis/scene.js';
import { OneShotTimer } from './session/time.js';

afterEach(() => {
  vi.useRealTimers();
});

test.each([2 ** 31, 2 ** 53, Number.MAX_VALUE])(
  'a timer of %d ms does not fire at once',
  (time) => {
    vi.useFakeTimers();
    const run = vi.fn();
    new OneShotTimer(run).start(time);
    vi.advanceTimersByTime(60_000);
    expect(run).not.toHaveBeenCalled();
  },
);

const scene = useServer();

describe.each(everyWay)('$handler, $mode', (way) => {
  test('the longest lease and the longest hold', async () => {
    const warnings: Error[] = [];
    const warned = (warning: Error) => warnings.push(warning);
    process.on('warning', warned);
    onTestFinished(() => void process.off('warning', warned));
    const ttl = 86_400_000;
    const [mutex, other] = [
      await scene.process({ ...way, ttl: 1_000 }),
      await scene.process({ ...way, ttl }),
    ];
    const short = await mutex.lock('k');
    const guard = await other.lock('l', { maxHold: 2 ** 40 });
    const waiters = [watch(mutex.lock('l')), watch(other.lock('k'))];
    await untilWaiting(other, 2);
    await short.release();
    await guard.release();
    for (const { promise } of waiters) await (await promise).release();
    const { batches } = other.metrics;
    await mutex.query();
    expect(other.metrics.batches).toBe(batches);
    expect(warnings).toEqual([]);
  });
});
