import { connectIoredis } from '../../../harness/redis-clients.js';
import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'two PINGs',
  role: 'floor',
  note: 'A PING in place of each acquisition and of each release, which limits nothing: the floor of one task alone.',
  async connect(address) {
    const redis = await connectIoredis(address);
    return {
      lock: () => redis.ping(),
      unlock: () => redis.ping(),
      close: async () => redis.disconnect(),
    };
  },
});
