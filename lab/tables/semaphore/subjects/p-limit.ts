import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'p-limit',
  role: 'peer',
  package: 'p-limit',
  load: () => import('p-limit'),
  run: {
    create: ({ default: pLimit }, limit) => pLimit(limit),
    run: (limit, work) => limit(work),
  },
});
