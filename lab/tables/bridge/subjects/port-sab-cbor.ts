import { documentVariant } from './document.js';

export default documentVariant({
  name: 'port_sab__cbor',
  request: 'port',
  codec: 'cbor',
  note: 'Asked through a MessagePort; answers of up to 255 bytes.',
});
