import type { BridgeSubject } from '../subject.js';
import { calls, payloadNames } from '../work.js';

const subject: BridgeSubject = {
  name: 'make-synchronized',
  role: 'peer',
  package: 'make-synchronized',
  note: "Node's main thread calls into a worker, the one direction that it has.",
  platforms: ['Node'],
  does: [...calls, ...payloadNames],
  sameAs: { 'batch of 8': 'call', 'batch of 64': 'call' },
  async serve() {
    const { makeModuleSynchronized } = await import('make-synchronized');
    const { rect, bytes, text, record, answered } = makeModuleSynchronized<
      typeof import('./workers/make-synchronized.js')
    >(new URL('./workers/make-synchronized.js', import.meta.url));
    return { blocking: { rect, bytes, text, record }, answered };
  },
};

export default subject;
