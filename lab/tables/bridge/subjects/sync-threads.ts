import { fileURLToPath } from 'node:url';
import type { BridgeSubject } from '../subject.js';
import { requests } from './requests.js';

const subject: BridgeSubject = {
  name: 'sync-threads',
  role: 'peer',
  package: 'sync-threads',
  note: "Node's main thread calls into a worker, which the library starts for each call.",
  platforms: ['Node'],
  does: ['call'],
  uncounted: true,
  async serve() {
    const { createSyncFn } = await import('sync-threads');
    const worker = new URL('./workers/sync-threads.js', import.meta.url);
    return { blocking: requests(createSyncFn(fileURLToPath(worker))) };
  },
};

export default subject;
