import type { LimitSubject } from '../subject.js';

const longestJobMilliseconds = 10_000;

export default {
  name: 'bottleneck, clustered',
  role: 'peer',
  package: 'bottleneck',
  fewKeys: true,
  note: "A reservoir on ioredis; `highWater: 0`, so that a job which cannot run at once is dropped; each job has an expiration, as its documentation recommends. It advises 5 s for a cluster's reservoir; here each request refreshes it. A limiter for each key with timers of its own, so it is not in the rows of 10,000 keys.",
  async connect({ host, port }, namespace, { limit, per }) {
    const { default: Bottleneck } = await import('bottleneck');
    const { Redis } = await import('ioredis');
    const connection = new Bottleneck.IORedisConnection({ client: new Redis({ host, port }) });
    await connection.ready;
    const group = new Bottleneck.Group({
      id: namespace,
      connection,
      reservoir: limit,
      reservoirRefreshAmount: limit,
      reservoirRefreshInterval: per,
      highWater: 0,
      strategy: Bottleneck.strategy.OVERFLOW,
    });
    const nothing = async () => {};
    return {
      async decide(key) {
        try {
          await group.key(key).schedule({ expiration: longestJobMilliseconds }, nothing);
          return true;
        } catch (error) {
          if (error instanceof Bottleneck.BottleneckError) return false;
          throw error;
        }
      },
      close: async () => {
        await group.disconnect();
        await connection.disconnect();
      },
    };
  },
} satisfies LimitSubject;
