/** The scenarios of `spec/` on `SharedMutex`, over Redis and on one machine. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { missingCapabilities, runScenario } from '@pointsman/spec';
import { scenarioFiles } from '@pointsman/spec/scenarios';
import { Redis } from 'ioredis';
import { host } from 'pointsman/host';
import { redis } from 'pointsman/redis';
import type { Store } from 'pointsman/shared';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { lacks, onRedis } from './redis-implementation.js';
import { type Server, startServer } from './servers/server.js';

const played = ['mutex', 'keyed-mutex'];
const files = Object.entries(scenarioFiles).filter(([, { primitive }]) =>
  played.includes(primitive),
);

/** Skipped where a grant takes a round trip: an abort in the same turn comes before the grant. */
const grantsAtOnce = new Set(['grant, then abort, keeps the lock']);

const ways = (['script', 'pure', 'host'] as const).flatMap((handler) =>
  (['local', 'strict'] as const).map((mode) => ({ handler, mode })),
);

let server: Server;
beforeAll(async () => {
  server = await startServer();
  // A server that has just started may have lost its data, so its first locks would wait for a lease.
  const uptime = async () => String(await server.command('INFO', 'server'));
  await vi.waitFor(async () => expect(await uptime()).toMatch(/^uptime_in_seconds:[1-9]/m), 5_000);
});
afterAll(() => server.stop());

describe.each(ways)('$handler, $mode', ({ handler, mode }) => {
  let store: Store;
  let end: () => void;
  beforeAll(() => {
    const namespace = `${handler}-${mode}`;
    if (handler === 'host') {
      const directory = mkdtempSync(join(tmpdir(), 'pointsman-host-'));
      store = host(namespace, { ttl: 1_000, directory });
      end = () => rmSync(directory, { recursive: true });
    } else {
      const client = new Redis({ port: server.port });
      store = redis(client, { handler, ttl: 1_000, namespace });
      end = () => client.disconnect();
    }
  });
  afterAll(async () => {
    await store.close();
    end();
  });

  describe.each(files)('%s', (_, { primitive, scenarios }) => {
    for (const scenario of scenarios) {
      const reasons = missingCapabilities(scenario, onRedis(undefined as never, mode)).map(
        (name) => `${name}: ${lacks[name]}`,
      );
      if (mode === 'strict' && grantsAtOnce.has(scenario.name)) {
        reasons.push('a grant takes a round trip');
      }
      const why = reasons.length > 0 ? ` (${reasons.join('; ')})` : '';
      test.skipIf(reasons.length > 0)(`${scenario.name}${why}`, async () => {
        const implementation = onRedis(store, mode);
        await runScenario(primitive, scenario, implementation);
        await runScenario(primitive, scenario, { ...implementation, sparing: true });
      });
    }
  });
});
