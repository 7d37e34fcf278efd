import type { RedisReply } from 'rate-limit-redis';
import { connectIoredis } from '../../../harness/redis-clients.js';
import type { LimitSubject } from '../subject.js';

export default {
  name: 'rate-limit-redis',
  role: 'peer',
  package: 'rate-limit-redis',
  note: 'Its RedisStore with ioredis, called as express-rate-limit calls it, without the middleware. Fixed windows.',
  async connect(address, namespace, { limit, per }) {
    const { RedisStore } = await import('rate-limit-redis');
    const redis = await connectIoredis(address);
    const store = new RedisStore({
      sendCommand: (command: string, ...words: string[]) =>
        redis.call(command, ...words) as Promise<RedisReply>,
      prefix: `${namespace}:`,
    });
    await store.init({ windowMs: per } as Parameters<typeof store.init>[0]);
    return {
      decide: async (key) => (await store.increment(key)).totalHits <= limit,
      close: async () => redis.disconnect(),
    };
  },
} satisfies LimitSubject;
