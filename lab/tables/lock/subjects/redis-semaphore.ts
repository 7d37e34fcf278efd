/** The Mutex of redis-semaphore with its defaults and with short retries. */
import type { LockOptions, Mutex } from 'redis-semaphore';
import { connectIoredis } from '../../../harness/redis-clients.js';
import { defineSubject } from '../subject.js';

const define = (name: string, note: string, options: LockOptions) =>
  defineSubject<Mutex[]>({
    name,
    role: 'peer',
    package: 'redis-semaphore',
    note,
    async connect(address) {
      const { Mutex } = await import('redis-semaphore');
      const redis = await connectIoredis(address);
      return {
        async lock(keys) {
          const held: Mutex[] = [];
          // Sorted, because two clients that lock the same keys in different orders could deadlock.
          for (const key of keys.toSorted()) {
            const mutex = new Mutex(redis, key, {
              acquireTimeout: Number.POSITIVE_INFINITY,
              ...options,
            });
            await mutex.acquire();
            held.push(mutex);
          }
          return held;
        },
        unlock: (held) => Promise.all(held.map((mutex) => mutex.release())),
        close: async () => redis.disconnect(),
      };
    },
  });

export const redisSemaphore = define(
  'redis-semaphore',
  'Its Mutex with its defaults (retries after 10 ms), without a time limit; several keys one after the other, sorted.',
  {},
);

export const redisSemaphoreFast = define(
  'redis-semaphore, 1 ms retries',
  'Its Mutex with retries after 1 ms and without its timer that refreshes the lock; several keys one after the other, sorted.',
  { retryInterval: 1, refreshInterval: 0 },
);
