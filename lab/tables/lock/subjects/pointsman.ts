/** Our subjects: the mutex as a program makes it, each with its own options. */
import type { RedisOptions } from 'pointsman/redis';
import type { SharedMutexOptions } from 'pointsman/shared';
import { connectIoredis } from '../../../harness/redis-clients.js';
import { defineSubject } from '../subject.js';

const definePointsman = (
  name: string,
  note: string,
  { handler, mode }: Pick<RedisOptions, 'handler'> & Pick<SharedMutexOptions, 'mode'> = {},
) =>
  defineSubject({
    name,
    role: 'ours',
    package: 'pointsman',
    note,
    async connect(address, namespace) {
      const { redis } = await import('pointsman/redis');
      const { SharedMutex } = await import('pointsman/shared');
      const client = await connectIoredis(address);
      const mutex = new SharedMutex(redis(client, { handler, namespace }), { mode });
      return {
        lock: (keys) => mutex.lock(keys),
        unlock: (held) => held.release(),
        async close() {
          await mutex.close();
          client.disconnect();
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
