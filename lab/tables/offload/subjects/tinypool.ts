import type { PoolSubject } from '../subject.js';
import { openTinypool } from './tinypool-settings.js';

const subject: PoolSubject = {
  name: 'tinypool',
  role: 'peer',
  package: 'tinypool',
  open: (settings) => openTinypool(settings, {}),
};

export default subject;
