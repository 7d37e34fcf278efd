import { defineSubject, type Work } from '../subject.js';

export default defineSubject({
  name: 'es-toolkit',
  role: 'peer',
  package: 'es-toolkit',
  note: 'limitAsync, and mapAsync with its concurrency.',
  load: () => import('es-toolkit'),
  limiter: {
    rules: ['concurrency'],
    create: ({ limitAsync }, { concurrency }) => limitAsync((work: Work) => work(), concurrency),
    run: (limited, work) => limited(work),
  },
  map: {
    map: ({ mapAsync }, inputs, mapper, concurrency) => mapAsync(inputs, mapper, { concurrency }),
  },
});
