import { defineSubject } from '../subject.js';
import { connectIoredis } from './clients.js';

export default defineSubject({
  name: 'pointsman local',
  role: 'ours',
  package: 'pointsman',
  note: 'Its defaults: while nobody elsewhere waits, the tasks of one process hand the lock to each other.',
  async connect(address) {
    const { RedisMutex } = await import('pointsman/redis');
    const redis = await connectIoredis(address);
    const mutex = new RedisMutex(redis);
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
