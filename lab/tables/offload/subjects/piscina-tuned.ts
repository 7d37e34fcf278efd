import type { PoolSubject } from '../subject.js';
import { openPiscina } from './piscina-settings.js';

const subject: PoolSubject = {
  name: 'piscina (tuned)',
  role: 'peer',
  package: 'piscina',
  note: "In its fastest documented setting: atomics: 'sync', concurrentTasksPerWorker: 16, recordTiming: false, and FixedQueue.",
  open: (settings) =>
    openPiscina(settings, {
      atomics: 'sync',
      concurrentTasksPerWorker: 16,
      recordTiming: false,
      fixedQueue: true,
    }),
};

export default subject;
