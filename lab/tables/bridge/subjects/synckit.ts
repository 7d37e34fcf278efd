import type { BridgeSubject } from '../subject.js';
import { requests } from './requests.js';
import type { Question } from './workers/functions.js';

const subject: BridgeSubject = {
  name: 'synckit',
  role: 'peer',
  package: 'synckit',
  note: 'Blocks without spinning; arguments and answers are cloned.',
  platforms: ['Node, into a worker'],
  does: ['call', 'source text', 'single'],
  async callWorker() {
    const { createSyncFn } = await import('synckit');
    const ask = createSyncFn<(question: Question) => unknown>(
      new URL('./workers/synckit.js', import.meta.url),
    );
    return { blocking: requests(ask), answered: () => ask('answered') as number };
  },
};

export default subject;
