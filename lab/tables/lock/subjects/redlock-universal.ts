import { connectIoredis } from '../../../harness/redis-clients.js';
import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'redlock-universal, 1 ms retries',
  role: 'peer',
  package: 'redlock-universal',
  note: 'Its LockManager with retries after 1 ms; acquireLock for one key, acquireBatch for several.',
  async connect(address) {
    const { IoredisAdapter, LockManager } = await import('redlock-universal');
    const redis = await connectIoredis(address);
    const manager = new LockManager({
      nodes: [new IoredisAdapter(redis)],
      defaultRetryAttempts: Number.MAX_SAFE_INTEGER,
      defaultRetryDelay: 1,
    });
    return {
      lock: async (keys) => {
        const [key] = keys;
        if (key === undefined || keys.length > 1) return manager.acquireBatch(keys);
        return [await manager.acquireLock(key)];
      },
      unlock: (held) => {
        const [handle] = held;
        if (handle === undefined || held.length > 1) return manager.releaseBatch(held);
        return manager.releaseLock(handle);
      },
      close: async () => redis.disconnect(),
    };
  },
});
