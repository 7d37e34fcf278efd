import type { PoolSubject } from '../subject.js';
import { openTinypool } from './tinypool-settings.js';

const subject: PoolSubject = {
  name: 'tinypool (16 at once)',
  role: 'peer',
  package: 'tinypool',
  note: 'With concurrentTasksPerWorker: 16, so that tasks are sent to a thread that is still busy.',
  open: (settings) => openTinypool(settings, { concurrentTasksPerWorker: 16 }),
};

export default subject;
