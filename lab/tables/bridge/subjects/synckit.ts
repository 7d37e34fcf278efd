import type { BridgeSubject } from '../subject.js';
import { calls, payloadNames } from '../work.js';
import { requests } from './requests.js';
import type { Question } from './workers/functions.js';

const subject: BridgeSubject = {
  name: 'synckit',
  role: 'peer',
  package: 'synckit',
  note: "Node's main thread calls into a worker, the one direction that it has.",
  platforms: ['Node'],
  does: [...calls, ...payloadNames],
  sameAs: { 'batch of 8': 'call', 'batch of 64': 'call' },
  async serve() {
    const { createSyncFn } = await import('synckit');
    const ask = createSyncFn<(question: Question) => unknown>(
      new URL('./workers/synckit.js', import.meta.url),
    );
    return { blocking: requests(ask), answered: () => ask('answered') as number };
  },
};

export default subject;
