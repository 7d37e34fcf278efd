import { connectIoredis } from '../../../harness/redis-clients.js';
import type { LimitSubject } from '../subject.js';

/** The reply of the server is empty: it counts nothing. */
export default {
  name: 'a PING per decision',
  role: 'floor',
  note: 'A PING by ioredis for each decision, which limits nothing: the floor of a limiter that asks the server about each request on its own.',
  async connect(address) {
    const redis = await connectIoredis(address);
    return {
      decide: async () => (await redis.ping()) === 'PONG',
      close: async () => redis.disconnect(),
    };
  },
} satisfies LimitSubject;
