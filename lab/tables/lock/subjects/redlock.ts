/** Redlock with its defaults and with short retries, and its maintained fork. */
import type { Redis } from 'ioredis';
import type { Settings } from 'redlock';
import { connectIoredis } from '../../../harness/redis-clients.js';
import type { Subject } from '../../../harness/table.js';
import { defineSubject } from '../subject.js';

const duration = 10_000;
const shortRetries: Partial<Settings> = { retryDelay: 1, retryJitter: 1 };

interface Locks<Held> {
  acquire(keys: string[], duration: number): Promise<Held>;
}

function define<Held extends { release(): Promise<unknown> }>(
  subject: Omit<Subject, 'role'>,
  make: (redis: Redis) => Promise<Locks<Held>>,
) {
  return defineSubject<Held>({
    ...subject,
    role: 'peer',
    async connect(address) {
      const redis = await connectIoredis(address);
      const locks = await make(redis);
      return {
        lock: (keys) => locks.acquire(keys, duration),
        unlock: (held) => held.release(),
        close: async () => redis.disconnect(),
      };
    },
  });
}

const redlockWith = (name: string, note: string, settings: Partial<Settings>) =>
  define({ name, package: 'redlock', note }, async (redis) => {
    const { default: Redlock } = await import('redlock');
    return new Redlock([redis], { retryCount: -1, ...settings });
  });

export const redlock = redlockWith(
  'redlock',
  'Its defaults (retries after 200 ± 100 ms), without a limit on retries.',
  {},
);

export const redlockFast = redlockWith(
  'redlock, 1 ms retries',
  'Retries after 1 ± 1 ms.',
  shortRetries,
);

export const sesamecareFast = define(
  {
    name: '@sesamecare-oss/redlock, 1 ms retries',
    package: '@sesamecare-oss/redlock',
    note: 'Retries after 1 ± 1 ms.',
  },
  async (redis) => {
    const { Redlock } = await import('@sesamecare-oss/redlock');
    return new Redlock([redis], { retryCount: -1, ...shortRetries });
  },
);
