import type { PoolSubject } from '../subject.js';
import { openPiscina } from './piscina-settings.js';

const subject: PoolSubject = {
  name: 'piscina',
  role: 'peer',
  package: 'piscina',
  open: (settings) => openPiscina(settings, {}),
};

export default subject;
