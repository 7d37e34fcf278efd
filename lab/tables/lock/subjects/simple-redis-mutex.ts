import { connectNodeRedis } from '../../../harness/redis-clients.js';
import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'simple-redis-mutex',
  role: 'peer',
  package: 'simple-redis-mutex',
  note: 'Its defaults (woken by a message); several keys one after the other, sorted.',
  async connect(address) {
    const { lock } = await import('simple-redis-mutex');
    const redis = await connectNodeRedis(address);
    return {
      async lock(keys) {
        const releases: Awaited<ReturnType<typeof lock>>[] = [];
        // Sorted, because two clients that lock the same keys in different orders could deadlock.
        for (const key of keys.toSorted()) releases.push(await lock(redis, key));
        return releases;
      },
      unlock: (held) => Promise.all(held.map((release) => release())),
      close: () => redis.close(),
    };
  },
});
