import { calls, payloadNames } from '../work.js';
import { bridgeSubject } from './bridge.js';

export default bridgeSubject({
  name: 'pointsman, cbor',
  note: 'Values as CBOR, by cbor-x.',
  does: [...calls, 'in flight', 'batch of 8', 'batch of 64', ...payloadNames],
  async onBothSides() {
    const { cbor } = await import('pointsman/bridge/cbor');
    return { codec: cbor() };
  },
});
