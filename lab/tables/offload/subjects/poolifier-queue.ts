import type { PoolSubject } from '../subject.js';
import { openPoolifier } from './poolifier-settings.js';

const subject: PoolSubject = {
  name: 'poolifier (queue)',
  role: 'peer',
  package: 'poolifier',
  note: 'With enableTasksQueue: a thread has one task at a time, and idle threads steal from the others.',
  open: (settings) => openPoolifier(settings, { enableTasksQueue: true }),
};

export default subject;
