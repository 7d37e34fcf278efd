import { defineSubject, type Work } from '../subject.js';

export default defineSubject({
  name: 'p-limit with p-throttle',
  role: 'peer',
  note: 'A hand-written combination, because no peer has both limits and keeps its rate and the async context: a limited function that calls a strictly throttled one.',
  load: async () => {
    const [{ default: pLimit }, { default: pThrottle }] = await Promise.all([
      import('p-limit'),
      import('p-throttle'),
    ]);
    return { pLimit, pThrottle };
  },
  limiter: {
    rules: ['both'],
    create: ({ pLimit, pThrottle }, { concurrency, rate = { limit: 1, per: 1 } }) => {
      const limit = pLimit(concurrency);
      const throttle = pThrottle({ limit: rate.limit, interval: rate.per, strict: true });
      return { limit, throttled: throttle((work: Work) => work()) };
    },
    run: ({ limit, throttled }, work) => limit(() => throttled(work)),
  },
});
