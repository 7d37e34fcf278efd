import { connectIoredis } from '../../../harness/redis-clients.js';
import type { LimitSubject } from '../subject.js';

export default {
  name: 'rate-limiter-flexible',
  role: 'peer',
  package: 'rate-limiter-flexible',
  note: 'Its RateLimiterRedis with ioredis. Fixed windows.',
  async connect(address, namespace, { limit, per }) {
    const { RateLimiterRedis, RateLimiterRes } = await import('rate-limiter-flexible');
    const storeClient = await connectIoredis(address);
    const limiter = new RateLimiterRedis({
      storeClient,
      keyPrefix: namespace,
      points: limit,
      duration: per / 1_000,
    });
    return {
      async decide(key) {
        try {
          await limiter.consume(key);
          return true;
        } catch (refusal) {
          if (refusal instanceof RateLimiterRes) return false;
          throw refusal;
        }
      },
      close: async () => storeClient.disconnect(),
    };
  },
} satisfies LimitSubject;
