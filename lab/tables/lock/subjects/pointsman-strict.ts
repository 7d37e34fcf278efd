import { defineSubject } from '../subject.js';
import { connectIoredis } from './clients.js';

export default defineSubject({
  name: 'pointsman strict',
  role: 'ours',
  package: 'pointsman',
  note: 'Each hand-over goes through the server, in the order of asking across all clients.',
  async connect(address) {
    const { RedisMutex } = await import('pointsman/redis');
    const redis = await connectIoredis(address);
    const mutex = new RedisMutex(redis, { mode: 'strict' });
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
