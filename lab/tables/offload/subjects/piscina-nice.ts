import type { PoolSubject } from '../subject.js';
import { openPiscina } from './piscina-settings.js';

const subject: PoolSubject = {
  name: 'piscina (nice)',
  role: 'peer',
  package: 'piscina',
  note: 'With niceIncrement: 10, so that its threads give way to the main thread; needs @napi-rs/nice.',
  open: (settings) => openPiscina(settings, { niceIncrement: 10 }),
};

export default subject;
