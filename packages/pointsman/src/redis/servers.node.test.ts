/** The core of the mutex on each installed server, with both libraries and handlers. */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { libraries } from '../../tests/redis/clients.js';
import {
  handlers,
  modes,
  untilHeld,
  untilWaiting,
  useServer,
  watch,
} from '../../tests/redis/scene.js';
import { availableServers } from '../../tests/servers/server.js';
import { TimeoutError } from '../shared/index.js';

describe.each(availableServers())('$name $version', (kind) => {
  const scene = useServer({ kind });

  describe.each(libraries)('%s', (library) => {
    describe.each(handlers)('%s', (handler) => {
      test.each(modes)('locks, queues, hands over and cancels: %s', async (mode) => {
        const way = { library, handler, mode };
        const [a, b] = [await scene.process(way), await scene.process(way)];
        const guard = await a.lock(['k', 'l']);
        expect(await b.tryLock('k')).toBeUndefined();
        await expect(b.lock('l', { timeout: 20 })).rejects.toThrow(TimeoutError);
        const waiter = watch(b.lock(['l', 'm']));
        await untilWaiting(a, 1);
        await guard.release();
        const next = await waiter.promise;
        expect(next.token).toBeGreaterThan(guard.token);
        await next.release();
        let inside = 0;
        const work = async (n: number) =>
          (n % 2 ? a : b).run(['k', `${n % 3}`], async () => {
            expect(++inside).toBe(1);
            await delay(1);
            inside--;
          });
        await Promise.all(Array.from({ length: 12 }, (_, n) => work(n)));
        await untilHeld(a);
      });

      test('wakes a waiter at a condition', async () => {
        const mutex = await scene.process({ library, handler });
        let ready = false;
        const waiter = mutex.run('k', async (guard) => {
          while (!ready) await mutex.condition('c').wait(guard);
          return 'woken';
        });
        await untilWaiting(mutex, 1);
        await mutex.run('k', async () => {
          ready = true;
          await mutex.condition('c').notify();
        });
        expect(await waiter).toBe('woken');
      });

      test.runIf(library === 'ioredis')(
        'takes over from a process without a connection, which loses its lock',
        async () => {
          const { proxy, mutex } = await scene.disturbed({ library, handler, ttl: 200 });
          const other = await scene.process({ library, handler, ttl: 200 });
          const guard = await mutex.lock('k');
          proxy.blackhole(true);
          const next = await other.lock('k');
          expect(guard.valid).toBe(false);
          expect(next.token).toBeGreaterThan(guard.token);
        },
      );
    });
  });
});
