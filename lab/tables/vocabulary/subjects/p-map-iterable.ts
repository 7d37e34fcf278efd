import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'p-map, pMapIterable',
  role: 'peer',
  package: 'p-map',
  note: 'Its results are collected with `for await`.',
  load: () => import('p-map'),
  map: {
    map: async ({ pMapIterable }, inputs, mapper, concurrency) => {
      const results: number[] = [];
      for await (const result of pMapIterable(inputs, mapper, { concurrency }))
        results.push(result);
      return results;
    },
  },
});
