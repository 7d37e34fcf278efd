import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'streaming-iterables',
  role: 'peer',
  package: 'streaming-iterables',
  note: 'parallelMap, whose results are collected.',
  load: () => import('streaming-iterables'),
  map: {
    map: ({ parallelMap, collect }, inputs, mapper, concurrency) =>
      collect(parallelMap(concurrency, mapper, inputs)),
  },
});
