import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'p-map',
  role: 'peer',
  package: 'p-map',
  load: () => import('p-map'),
  map: {
    map: ({ default: pMap }, inputs, mapper, concurrency) => pMap(inputs, mapper, { concurrency }),
  },
});
