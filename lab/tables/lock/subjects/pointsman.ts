/** The code that our subjects share: the mutex as a program makes it, each with its own options. */
import type { RedisMutexOptions } from 'pointsman/redis';
import { defineSubject } from '../subject.js';
import { connectIoredis } from './clients.js';

export const definePointsman = (name: string, note: string, options?: RedisMutexOptions) =>
  defineSubject({
    name,
    role: 'ours',
    package: 'pointsman',
    note,
    async connect(address) {
      const { RedisMutex } = await import('pointsman/redis');
      const redis = await connectIoredis(address);
      const mutex = new RedisMutex(redis, options);
      return {
        lock: (keys) => mutex.lock(keys),
        unlock: (held) => held.release(),
        async close() {
          await mutex.close();
          redis.disconnect();
        },
      };
    },
  });
