import type { PoolSubject } from '../subject.js';
import { openPoolifier } from './poolifier-settings.js';

const subject: PoolSubject = {
  name: 'poolifier',
  role: 'peer',
  package: 'poolifier',
  note: 'A fixed pool. Cannot return a buffer without copying it; its queues have no limit.',
  open: (settings) => openPoolifier(settings, {}),
};

export default subject;
