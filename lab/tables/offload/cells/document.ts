/**
 * The document's experiment: `ab -k -c 20 -n 250` on an Express route that hashes a password. In addition a light
 * request every 20 ms, and the delay of the event loop, which ab does not show.
 */
import { quantile } from 'simple-statistics';
import type { Budget, Cell, Measurement } from '../../../harness/table.js';
import { hashingAlone, measureHashingAlone } from '../floors/hashing-alone.js';
import { abVersion, runAb } from '../server/ab.js';
import { async, hashing, isHash, publishedCost, sync } from '../server/hashing.js';
import { pingDuring } from '../server/ping.js';
import { type RunningServer, startServer } from '../server/start.js';
import { unequalIfPolite } from '../subjects/index.js';

const concurrency = 20;
const warmUpRequests = 20;
const documentRequests = 250;
/** Milliseconds of the budget per request, for a subject that the document does not have. */
const millisecondsPerRequest = 1.5;
const hashLength = 60;

export const documentCell: Cell = {
  id: 'document',
  subjects: [...hashing, hashingAlone].map(({ name }) => name),
  expectedMilliseconds: 6_000,
  limitMilliseconds: 90_000,
  async measure(name, budget) {
    if (name === hashingAlone.name) {
      return { ok: true, samples: { 'Requests per second': [measureHashingAlone()] } };
    }
    if (abVersion() === undefined) {
      const note = 'ab is not here: `make lab TABLE=offload` installs it';
      return { ok: false, unavailable: true, note, samples: {} };
    }
    const server = await startServer(name, publishedCost);
    try {
      return {
        ...(await measureLoad(name, server, requestsTo(name, budget))),
        ...unequalIfPolite(name),
      };
    } finally {
      await server.stop();
    }
  },
};

function requestsTo(name: string, { measureMilliseconds }: Budget): number {
  if (name === sync.name || name === async.name) return documentRequests;
  return Math.min(documentRequests, Math.round(measureMilliseconds / millisecondsPerRequest));
}

async function measureLoad(
  name: string,
  server: RunningServer,
  requests: number,
): Promise<Measurement> {
  const url = `${server.url}/${name === sync.name ? 'sync' : 'async'}`;
  if (!(await isHash(await (await fetch(url)).text()))) throw new Error('answered no hash');
  await runAb(url, warmUpRequests, concurrency);
  server.reset();
  const load = runAb(url, requests, concurrency);
  const pings = await pingDuring(server.url, load);
  const report = await load;
  const delay = await server.delay();
  if (report['Complete requests'] !== requests || report['Failed requests'] !== 0) {
    throw new Error(`ab completed ${report['Complete requests']} of ${requests} requests`);
  }
  if (report['HTML transferred'] !== requests * hashLength)
    throw new Error('answers were too short');
  const note = `${requests} requests`;
  const lines = Object.entries(report).map(([line, value]) => [line, [value]]);
  return {
    ok: true,
    note,
    samples: {
      ...Object.fromEntries(lines),
      pingMedian: [quantile(pings, 0.5)],
      pingP99: [quantile(pings, 0.99)],
      pingMax: [Math.max(...pings)],
      delayP99: [delay.p99],
      delayMax: [delay.max],
    },
  };
}
