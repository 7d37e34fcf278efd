/** Our read-write lock, as a reader and as a writer. No peer for Node has one on Redis. */
import type { SharedRwLock } from 'pointsman/shared';
import { connectIoredis } from '../../../harness/redis-clients.js';
import roundTrips from '../floors/round-trips.js';
import { defineSubject } from '../subject.js';

const define = (name: string, mode: 'read' | 'write') =>
  defineSubject<Awaited<ReturnType<SharedRwLock['read']>>>({
    name,
    role: 'ours',
    package: 'pointsman',
    note: `\`${mode}\` of its SharedRwLock.`,
    async connect(address, namespace) {
      const { redis } = await import('pointsman/redis');
      const { SharedRwLock } = await import('pointsman/shared');
      const client = await connectIoredis(address);
      const lock = new SharedRwLock(redis(client, { namespace }));
      return {
        lock: (keys) => lock[mode](keys),
        unlock: (held) => held.release(),
        async close() {
          await lock.close();
          client.disconnect();
        },
      };
    },
  });

/** In the order of the report. */
export const rwLocks = [
  define('pointsman read-write lock, read', 'read'),
  define('pointsman read-write lock, write', 'write'),
  roundTrips,
];
