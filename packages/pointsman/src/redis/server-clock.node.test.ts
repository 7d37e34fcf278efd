/** The server's clock is set while locks are held. */
import { afterAll, describe, expect, test } from 'vitest';
import { missingCompiler, WrongClock } from '../../tests/faults/clock/wrong-clock.js';
import { handlers, untilWaiting, useServer, watch } from '../../tests/redis/scene.js';

const ttl = 1_000;

describe.skipIf(missingCompiler())('the clock of the server', () => {
  const clock = new WrongClock();
  const scene = useServer({ kind: clock.kind });
  /** The error of the clock. */
  let shift = 0;
  const jump = (milliseconds: number): void => {
    shift += milliseconds;
    clock.set(shift);
  };
  afterAll(() => clock.remove());

  describe.each(handlers)('%s', (handler) => {
    test('jumps forward: a lock is kept', async () => {
      const mutex = await scene.process({ handler, ttl });
      const guard = await mutex.lock('k');
      for (let i = 0; i < 3; i++) {
        jump(2 * ttl);
        await guard.extend();
      }
      expect(guard.valid).toBe(true);
      expect(mutex.metrics.losses).toBe(0);
    });

    test.each([2, 10])(
      'jumps forward by %d leases: no process gets a lock that is still valid',
      async (leases) => {
        const { proxy, mutex } = await scene.disturbed({ handler, ttl });
        const [other, late] = [
          await scene.process({ handler, ttl }),
          await scene.process({ handler, ttl }),
        ];
        const guard = await mutex.lock('k');
        const waiter = watch(other.lock('k'));
        await untilWaiting(late, 1);
        // The holder does not renew in time.
        proxy.blackhole(true);
        jump(leases * ttl);
        void late.tryLock('k');
        const next = await waiter.promise;
        expect([next.valid, guard.valid]).toEqual([true, false]);
      },
    );

    test('is set to before its start: locks are granted', async () => {
      jump(-3_600_000);
      const mutex = await scene.process({ handler, ttl });
      await mutex.run('k', (guard) => expect(guard.valid).toBe(true));
      jump(3_600_000);
    });
  });
});
