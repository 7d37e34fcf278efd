import { calls, payloadNames } from '../work.js';
import { bridgeSubject } from './bridge.js';

export default bridgeSubject({
  name: 'pointsman',
  note: 'With its defaults.',
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
});
