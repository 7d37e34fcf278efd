import { documentVariant } from './document.js';

export default documentVariant({
  name: 'port_port__structured',
  request: 'port',
  codec: 'structured',
  note: 'Awaited: request and answer use a MessagePort.',
});
