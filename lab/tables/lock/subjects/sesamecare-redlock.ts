import { defineSubject } from '../subject.js';
import { connectIoredis } from './clients.js';

const duration = 10_000;

export default defineSubject({
  name: '@sesamecare-oss/redlock',
  role: 'peer',
  package: '@sesamecare-oss/redlock',
  note: 'Its defaults (retries after 200 ± 100 ms), without a limit on retries.',
  async connect(address) {
    const { Redlock } = await import('@sesamecare-oss/redlock');
    const redis = await connectIoredis(address);
    const redlock = new Redlock([redis], { retryCount: -1 });
    return {
      lock: (keys) => redlock.acquire(keys, duration),
      unlock: (held) => held.release(),
      close: async () => redis.disconnect(),
    };
  },
});
