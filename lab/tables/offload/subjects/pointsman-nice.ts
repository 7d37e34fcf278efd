import type { PoolSubject } from '../subject.js';
import { openPointsman } from './pointsman-settings.js';

const subject: PoolSubject = {
  name: 'pointsman (nice)',
  role: 'ours',
  package: 'pointsman',
  note: 'With nice: 10, so that its threads give way to the main thread and to every other program.',
  open: (settings) => openPointsman(settings, { nice: 10 }),
};

export default subject;
