import type { BridgeSubject } from '../subject.js';

const subject: BridgeSubject = {
  name: 'make-synchronized',
  role: 'peer',
  package: 'make-synchronized',
  note: 'Blocks without spinning; arguments and answers are cloned.',
  platforms: ['Node, into a worker'],
  does: ['call', 'source text', 'single'],
  async callWorker() {
    const { makeModuleSynchronized } = await import('make-synchronized');
    const { answered, ...blocking } = makeModuleSynchronized<
      typeof import('./workers/make-synchronized.js')
    >(new URL('./workers/make-synchronized.js', import.meta.url));
    return { blocking, answered };
  },
};

export default subject;
