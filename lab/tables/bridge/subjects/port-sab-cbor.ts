import { documentVariant } from './document.js';

export default documentVariant({
  name: 'port_sab__cbor',
  request: 'port',
  codec: 'cbor',
  note: 'Requests use a MessagePort; answers have up to 255 bytes.',
});
