import { documentVariant } from './document.js';

export default documentVariant({
  name: 'port_sab__custom',
  request: 'port',
  codec: 'custom',
  note: 'Asked through a MessagePort; answers are cut to whole numbers, as in the document.',
});
