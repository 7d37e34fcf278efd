import type { PoolSubject } from '../subject.js';
import { openPointsman } from './pointsman-settings.js';

const subject: PoolSubject = {
  name: 'pointsman',
  role: 'ours',
  package: 'pointsman',
  open: (settings) => openPointsman(settings, {}),
};

export default subject;
