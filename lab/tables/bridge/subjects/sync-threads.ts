import { fileURLToPath } from 'node:url';
import type { BridgeSubject } from '../subject.js';
import { requests } from './requests.js';

const subject: BridgeSubject = {
  name: 'sync-threads',
  role: 'peer',
  package: 'sync-threads',
  note: 'Starts a worker for each call.',
  platforms: ['Node, into a worker'],
  does: ['call', 'source text'],
  uncounted: true,
  async callWorker() {
    const { createSyncFn } = await import('sync-threads');
    const worker = new URL('./workers/sync-threads.js', import.meta.url);
    return { blocking: requests(createSyncFn(fileURLToPath(worker))) };
  },
};

export default subject;
