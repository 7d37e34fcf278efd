import { documentVariant } from './document.js';

export default documentVariant({
  name: 'sab_sab__cbor',
  request: 'memory',
  codec: 'cbor',
  note: 'Asked through shared memory; answers of up to 255 bytes.',
});
