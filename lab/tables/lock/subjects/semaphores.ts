/** Semaphores of several processes: `lock` acquires a permit of one key. */
import type { LockOptions, Semaphore } from 'redis-semaphore';
import { connectIoredis } from '../../../harness/redis-clients.js';
import roundTrips from '../floors/round-trips.js';
import { defineSubject } from '../subject.js';

/** The number of permits of a key. */
export const permits = 3;

const pointsman = defineSubject({
  name: 'pointsman semaphore',
  role: 'ours',
  package: 'pointsman',
  note: 'Its SharedSemaphore.',
  async connect(address, namespace) {
    const { redis } = await import('pointsman/redis');
    const { SharedSemaphore } = await import('pointsman/shared');
    const client = await connectIoredis(address);
    const semaphore = new SharedSemaphore(redis(client, { namespace }), permits);
    return {
      lock: (keys) => semaphore.acquire(keys),
      unlock: (held) => held.release(),
      async close() {
        await semaphore.close();
        client.disconnect();
      },
    };
  },
});

const redisSemaphore = (name: string, note: string, options: LockOptions) =>
  defineSubject<Semaphore>({
    name,
    role: 'peer',
    package: 'redis-semaphore',
    note,
    async connect(address) {
      const { Semaphore } = await import('redis-semaphore');
      const redis = await connectIoredis(address);
      return {
        async lock([key = '']) {
          const semaphore = new Semaphore(redis, key, permits, {
            acquireTimeout: Number.POSITIVE_INFINITY,
            ...options,
          });
          await semaphore.acquire();
          return semaphore;
        },
        unlock: (held) => held.release(),
        close: async () => redis.disconnect(),
      };
    },
  });

/** In the order of the report. */
export const semaphores = [
  pointsman,
  redisSemaphore(
    'redis-semaphore, Semaphore',
    'Its Semaphore with its defaults (retries after 10 ms), without a time limit.',
    {},
  ),
  redisSemaphore(
    'redis-semaphore, Semaphore, 1 ms retries',
    'Its Semaphore with retries after 1 ms and without its timer that refreshes the permit.',
    { retryInterval: 1, refreshInterval: 0 },
  ),
  roundTrips,
];
