import { documentVariant } from './document.js';

export default documentVariant({
  name: 'sab_sab__custom',
  request: 'memory',
  codec: 'custom',
  note: 'Requests use shared memory; answers are truncated to whole numbers, as in the document.',
});
