import { documentVariant } from './document.js';

export default documentVariant({
  name: 'sab_sab__custom',
  request: 'memory',
  codec: 'custom',
  note: 'Asked through shared memory; answers are cut to whole numbers, as in the document.',
});
