import { defineSubject } from '../subject.js';
import { connectIoredis } from './clients.js';

const duration = 10_000;

export default defineSubject({
  name: 'redlock',
  role: 'peer',
  package: 'redlock',
  note: 'Its defaults (retries after 200 ± 100 ms), without a limit on retries.',
  async connect(address) {
    const { default: Redlock } = await import('redlock');
    const redis = await connectIoredis(address);
    const redlock = new Redlock([redis], { retryCount: -1 });
    return {
      lock: (keys) => redlock.acquire(keys, duration),
      unlock: (held) => held.release(),
      close: async () => redis.disconnect(),
    };
  },
});
