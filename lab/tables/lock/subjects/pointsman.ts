/** Our subjects: the mutex as a program makes it, each with its own options. */
import type { RedisMutexOptions } from 'pointsman/redis';
import { defineSubject } from '../subject.js';
import { connectIoredis } from './clients.js';

const definePointsman = (name: string, note: string, options?: RedisMutexOptions) =>
  defineSubject({
    name,
    role: 'ours',
    package: 'pointsman',
    note,
    async connect(address, namespace) {
      const { RedisMutex } = await import('pointsman/redis');
      const redis = await connectIoredis(address);
      const mutex = new RedisMutex(redis, { ...options, namespace });
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

export const local = definePointsman(
  'pointsman local',
  'Its defaults: while no other process waits, the tasks of one process hand the lock to each other without the server.',
);

export const strict = definePointsman(
  'pointsman strict',
  'Each hand-over goes through the server, in the order of requests across all clients.',
  { mode: 'strict' },
);

export const pure = definePointsman(
  'pointsman pure',
  'Without scripts: transactions use WATCH and MULTI. Tasks of one process hand the lock over as in the first.',
  { handler: 'pure' },
);
