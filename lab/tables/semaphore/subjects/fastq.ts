import { defineSubject, type Work } from '../subject.js';

export default defineSubject({
  name: 'fastq',
  role: 'peer',
  package: 'fastq',
  note: 'fastq.promise, with a worker that calls the function passed to it.',
  load: () => import('fastq'),
  run: {
    create: ({ default: fastq }, limit) => fastq.promise((work: Work) => work(), limit),
    run: (queue, work) => queue.push(work),
  },
});
