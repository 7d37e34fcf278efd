import { documentVariant } from './document.js';

export default documentVariant({
  name: 'port_sab__custom',
  request: 'port',
  codec: 'custom',
  note: 'Requests use a MessagePort; answers are truncated to whole numbers, as in the document.',
});
