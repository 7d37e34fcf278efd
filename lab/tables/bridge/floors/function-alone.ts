import type { BridgeSubject } from '../subject.js';

const subject: BridgeSubject = {
  name: 'the function alone',
  role: 'floor',
  note: 'Called in its own thread, without crossing to another.',
  platforms: ['Chromium', 'Node'],
  does: ['call', 'single', 'steady', 'idle'],
  sameAs: {
    awaited: 'call',
    'in flight': 'call',
    'batch of 8': 'call',
    'batch of 64': 'call',
  },
  serve: async ({ functions }) => ({ blocking: functions }),
};

export default subject;
