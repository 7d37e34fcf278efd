import { defineSubject } from '../subject.js';
import { connectIoredis } from './clients.js';

const duration = 10_000;

export default defineSubject({
  name: '@sesamecare-oss/redlock, 1 ms retries',
  role: 'peer',
  package: '@sesamecare-oss/redlock',
  note: 'Retries after 1 ± 1 ms.',
  async connect(address) {
    const { Redlock } = await import('@sesamecare-oss/redlock');
    const redis = await connectIoredis(address);
    const redlock = new Redlock([redis], { retryCount: -1, retryDelay: 1, retryJitter: 1 });
    return {
      lock: (keys) => redlock.acquire(keys, duration),
      unlock: (held) => held.release(),
      close: async () => redis.disconnect(),
    };
  },
});
