import type { BridgeSubject, Platform } from '../subject.js';
import { calls, payloadNames } from '../work.js';

type ComlinkEndpoint = import('comlink').Endpoint;

async function endpoint(platform: Platform, raw: unknown): Promise<ComlinkEndpoint> {
  if (platform === 'Chromium') return raw as ComlinkEndpoint;
  const { default: nodeEndpoint } = await import('comlink/dist/esm/node-adapter.mjs');
  return nodeEndpoint(raw);
}

const subject: BridgeSubject = {
  name: 'comlink',
  role: 'peer',
  package: 'comlink',
  note: 'Awaited. In Node through its node-adapter.',
  platforms: ['Chromium', 'Node'],
  does: [...calls, 'in flight', ...payloadNames],
  doneBy: { awaited: 'call' },
  async serve({ platform, functions, startWorker }) {
    const { expose } = await import('comlink');
    expose(functions, await endpoint(platform, startWorker().raw));
    return undefined;
  },
  async connect({ platform, raw }) {
    const { wrap } = await import('comlink');
    const awaited = wrap<import('../host/functions.js').HostFunctions>(
      await endpoint(platform, raw),
    );
    return { awaited };
  },
};

export default subject;
