import { documentVariant } from './document.js';

export default documentVariant({
  name: 'sab_sab__cbor',
  request: 'memory',
  codec: 'cbor',
  note: 'Requests use shared memory; answers have up to 255 bytes.',
});
