import type { BridgeSubject } from '../subject.js';
import { calls } from '../work.js';

const subject: BridgeSubject = {
  name: 'the function alone',
  role: 'floor',
  note: 'Called in its own thread, without crossing to another.',
  platforms: ['Chromium', 'Node'],
  does: [...calls, 'idle'],
  doneBy: { awaited: 'call', 'in flight': 'call', 'batch of 8': 'call' },
  serve: async ({ functions }) => ({ blocking: functions }),
};

export default subject;
