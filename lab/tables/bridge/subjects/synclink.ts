import type { ServedFunctions } from '../host/functions.js';
import type { BridgeSubject } from '../subject.js';
import { calls, jsonPayloads } from '../work.js';

const subject: BridgeSubject = {
  name: 'synclink',
  role: 'peer',
  package: 'synclink',
  note: 'Its blocking calls carry JSON, so no bytes.',
  platforms: ['Chromium'],
  does: [...calls, 'awaited', 'async function', ...jsonPayloads],
  doneBy: { 'batch of 8': 'call' },
  async serve({ functions, startWorker }) {
    const { expose } = await import('synclink');
    expose(functions, startWorker().raw);
    return undefined;
  },
  async connect({ raw }) {
    const { wrap } = await import('synclink');
    const host = wrap<ServedFunctions>(raw);
    return {
      awaited: host,
      rectOfAsync: () => host.asyncRect().syncify(),
      blocking: {
        rect: () => host.rect().syncify(),
        text: (length) => host.text(length).syncify(),
        record: () => host.record().syncify(),
      },
    };
  },
};

export default subject;
