/** Our subjects: the shared limiter, asked about each request and with a lease. */
import { connectIoredis } from '../../../harness/redis-clients.js';
import type { LimitSubject } from '../subject.js';

async function make(...[address, namespace, rule, lease]: [...Connect, lease: number]) {
  const { redis } = await import('pointsman/redis');
  const { SharedLimiter } = await import('pointsman/shared');
  const client = await connectIoredis(address);
  const limiter = new SharedLimiter(redis(client, { namespace }), 'lab', {
    perKey: { rate: rule },
    lease,
  });
  return {
    limiter,
    async close() {
      await limiter.close();
      client.disconnect();
    },
  };
}

type Connect = Parameters<LimitSubject['connect']>;

export const exact: LimitSubject = {
  name: 'pointsman exact',
  role: 'ours',
  package: 'pointsman',
  note: 'The method check of its SharedLimiter: the store decides about each request.',
  async connect(address, namespace, rule) {
    const { limiter, close } = await make(address, namespace, rule, 1);
    return { decide: async (key) => (await limiter.check(key)).allowed, close };
  },
};

export const leaseSize = 1_000;

export const leased: LimitSubject = {
  name: 'pointsman lease',
  role: 'ours',
  package: 'pointsman',
  note: `Its SharedLimiter with \`lease: ${leaseSize.toLocaleString('en-US')}\`: a process takes starts ahead, and asks the store when they are used up. \`acquire\` with a timeout of 0, because \`check\` always asks the store.`,
  async connect(address, namespace, rule) {
    const { TimeoutError } = await import('pointsman');
    const { limiter, close } = await make(address, namespace, rule, leaseSize);
    return {
      async decide(key) {
        try {
          (await limiter.acquire({ key, timeout: 0 })).release();
          return true;
        } catch (error) {
          if (error instanceof TimeoutError) return false;
          throw error;
        }
      },
      close,
    };
  },
};
