import { calls, payloadNames } from '../work.js';
import { bridgeSubject } from './bridge.js';

export default bridgeSubject({
  name: 'pointsman, spin: false',
  note: 'Both threads sleep while they wait.',
  does: [
    ...calls,
    'awaited',
    'async function',
    'in flight',
    'batch of 8',
    'batch of 64',
    'frames',
    'idle',
    ...payloadNames,
  ],
  options: { spin: false },
});
