import type { BridgeSubject } from '../subject.js';
import { calls, payloadNames } from '../work.js';

const subject: BridgeSubject = {
  name: 'coincident',
  role: 'peer',
  package: 'coincident',
  note: 'Functions of the host as members of its proxy. A blocked worker spins for the whole call.',
  platforms: ['Chromium'],
  does: [...calls, 'async function', ...payloadNames],
  doneBy: { 'batch of 8': 'call' },
  async serve({ functions, startWorker }) {
    const { default: coincident } = await import('coincident/main');
    const worker = startWorker('connect', coincident().Worker).raw as { proxy: object };
    Object.assign(worker.proxy, functions);
    return undefined;
  },
  async connect() {
    const { default: coincident } = await import('coincident/worker');
    const { proxy, native } = await coincident();
    if (!native) throw new Error('found no shared memory');
    return { blocking: proxy, rectOfAsync: () => proxy.asyncRect() };
  },
};

export default subject;
