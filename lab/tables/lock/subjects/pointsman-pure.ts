import { defineSubject } from '../subject.js';
import { connectIoredis } from './clients.js';

export default defineSubject({
  name: 'pointsman pure',
  role: 'ours',
  package: 'pointsman',
  note: 'Without scripts: its transactions are WATCH and MULTI; hands over in the process as the first does.',
  async connect(address) {
    const { RedisMutex } = await import('pointsman/redis');
    const redis = await connectIoredis(address);
    const mutex = new RedisMutex(redis, { handler: 'pure' });
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
