/** The scenarios of `spec/` on the locks of `pointsman/shared`, over Redis and on one machine. */
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
import { excluded, lacks, onRedis } from './redis-implementation.js';
import { type Server, startServer } from './servers/server.js';

const mutexes = ['mutex', 'keyed-mutex'];
/** Played in the mode in which a grant takes a round trip. */
const locks = ['rwlock', 'keyed-rwlock', 'semaphore', 'keyed-semaphore'];

/** Longer than a busy machine stops for, as a scenario does not expect to lose a lock. */
const ttl = 3_000;

const filesOf = (played: readonly string[]) =>
  Object.entries(scenarioFiles).filter(([, { primitive }]) => played.includes(primitive));

const ways = (['script', 'pure', 'host'] as const).flatMap((handler) =>
  (['local', 'strict'] as const).map((mode) => ({ handler, mode })),
);

let server: Server;
beforeAll(async () => {
  server = await startServer();
  // A server that has just started may have lost its data, so its first locks would wait for a lease.
  const uptime = async () => String(await server.command('INFO', 'server'));
  await vi.waitFor(
    async () => expect(await uptime()).toMatch(/^uptime_in_seconds:([3-9]|\d\d)/m),
    9_000,
  );
});
afterAll(() => server.stop());

describe.each(ways)('$handler, $mode', ({ handler, mode }) => {
  let store: Store;
  let end: () => void;
  beforeAll(() => {
    const namespace = `${handler}-${mode}`;
    if (handler === 'host') {
      const directory = mkdtempSync(join(tmpdir(), 'pointsman-host-'));
      store = host(namespace, { ttl, directory });
      end = () => rmSync(directory, { recursive: true });
    } else {
      const client = new Redis({ port: server.port });
      store = redis(client, { handler, ttl, namespace });
      end = () => client.disconnect();
    }
  });
  afterAll(async () => {
    await store.close();
    end();
  });

  const played = mode === 'strict' ? [...mutexes, ...locks] : mutexes;

  describe.each(filesOf(played))('%s', (_, { primitive, scenarios }) => {
    for (const scenario of scenarios) {
      const reasons = missingCapabilities(scenario, onRedis(undefined as never, mode)).map(
        (name) => `${name}: ${lacks[name]}`,
      );
      const reason = mode === 'strict' ? excluded[scenario.name] : undefined;
      if (reason !== undefined) reasons.push(reason);
      const why = reasons.length > 0 ? ` (${reasons.join('; ')})` : '';
      // A busy machine may take longer for a step than the timeout of a waiter. Then it is played again, more slowly.
      const retry = scenario.needs?.includes('timeout') ? 2 : 0;
      test.skipIf(reasons.length > 0)(`${scenario.name}${why}`, { retry }, async ({ task }) => {
        const pace = 0.6 * 3 ** (task.result?.retryCount ?? 0);
        const implementation = onRedis(store, mode, pace);
        await runScenario(primitive, scenario, implementation);
        await runScenario(primitive, scenario, { ...implementation, sparing: true });
      });
    }
  });
});

test('every excluded scenario exists', () => {
  const files = filesOf([...mutexes, ...locks]);
  const names = files.flatMap(([, { scenarios }]) => scenarios.map(({ name }) => name));
  expect(names).toEqual(expect.arrayContaining(Object.keys(excluded)));
});
