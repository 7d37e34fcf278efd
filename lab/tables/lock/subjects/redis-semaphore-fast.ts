import { defineSubject } from '../subject.js';
import { connectIoredis } from './clients.js';

export default defineSubject({
  name: 'redis-semaphore, 1 ms retries',
  role: 'peer',
  package: 'redis-semaphore',
  note: 'Its Mutex with retries after 1 ms and without its timer that refreshes the lock; several keys one after the other, sorted.',
  async connect(address) {
    const { Mutex } = await import('redis-semaphore');
    const redis = await connectIoredis(address);
    return {
      async lock(keys) {
        const held: InstanceType<typeof Mutex>[] = [];
        // Sorted, because two clients that lock the same keys in different orders could deadlock.
        for (const key of keys.toSorted()) {
          const mutex = new Mutex(redis, key, {
            acquireTimeout: Number.POSITIVE_INFINITY,
            retryInterval: 1,
            refreshInterval: 0,
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
