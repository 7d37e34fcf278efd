import type { PoolSubject } from '../subject.js';
import { openPiscina } from './piscina-settings.js';

const subject: PoolSubject = {
  name: 'piscina (16 at once)',
  role: 'peer',
  package: 'piscina',
  note: "With concurrentTasksPerWorker: 16, so that tasks are sent to a thread that is still busy, and atomics: 'async', which is then its fastest.",
  open: (settings) => openPiscina(settings, { concurrentTasksPerWorker: 16, atomics: 'async' }),
};

export default subject;
