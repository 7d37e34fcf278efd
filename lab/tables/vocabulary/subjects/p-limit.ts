import { defineSubject } from '../subject.js';

type Limit = ReturnType<typeof import('p-limit')['default']>;

export default defineSubject({
  name: 'p-limit',
  role: 'peer',
  package: 'p-limit',
  note: 'Keys are a Map of limits without removal.',
  load: () => import('p-limit'),
  limiter: {
    rules: ['concurrency'],
    create: ({ default: pLimit }, { concurrency }) => pLimit(concurrency),
    run: (limit, work) => limit(work),
  },
  keyed: {
    create: ({ default: pLimit }, concurrency) => ({
      limits: new Map<string, Limit>(),
      make: () => pLimit(concurrency),
    }),
    run: ({ limits, make }, key, work) => {
      let limit = limits.get(key);
      if (!limit) {
        limit = make();
        limits.set(key, limit);
      }
      return limit(work);
    },
  },
  map: {
    map: ({ default: pLimit }, inputs, mapper, concurrency) =>
      pLimit(concurrency).map(inputs, mapper),
  },
});
