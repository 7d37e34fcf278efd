/** The mutex with clients of node-redis that lend other clients: pools and sentinels. */
import { createClientPool, createSentinel } from 'redis';
import * as redis5 from 'redis-5';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { handlers, mutexOn, soon, useServer, watch } from '../../../tests/redis/scene.js';
import { type Server, startServer } from '../../../tests/servers/server.js';
import { StoreError } from '../../shared/index.js';
import { fencedSet, type RedisClient } from '../index.js';

const scene = useServer();
let replica: Server;
let sentinel: Server;

beforeAll(async () => {
  replica = await startServer({ args: ['--replicaof', '127.0.0.1', `${scene.server.port}`] });
  sentinel = await startServer({ sentinelOf: scene.server.port });
});
afterAll(async () => {
  await sentinel?.stop();
  await replica?.stop();
});

const pool =
  (create: typeof createClientPool) =>
  async (database = 0) => {
    const client = create({ url: scene.server.url, database }, { minimum: 1, maximum: 1 });
    client.on('error', () => {});
    onTestFinished(() => client.destroy());
    await client.connect();
    return client as RedisClient;
  };

const watching =
  (create: typeof createSentinel) =>
  async (database = 0) => {
    const client = create({
      name: 'primary',
      sentinelRootNodes: [{ host: '127.0.0.1', port: sentinel.port }],
      nodeClientOptions: { database },
    });
    client.on('error', () => {});
    onTestFinished(() => client.destroy());
    await client.connect();
    return client as RedisClient;
  };

const lenders = {
  'a pool': pool(createClientPool),
  'a pool of node-redis 5': pool(redis5.createClientPool as never),
  'a sentinel': watching(createSentinel),
  'a sentinel of node-redis 5': watching(redis5.createSentinel as never),
};

describe.each(Object.entries(lenders))('%s', (_, connect) => {
  test.each(handlers)(
    'locks, waits and receives messages, in the database of the client: %s',
    async (handler) => {
      const settings = { namespace: scene.namespace, handler, ttl: 1_000 };
      const other = await scene.process({ ...settings, library: 'node-redis' });
      const [zero, three] = [
        mutexOn(await connect(), settings),
        mutexOn(await connect(3), settings),
      ];
      onTestFinished(() => zero.close());
      onTestFinished(() => three.close());
      const guard = await zero.lock('k');
      await (await three.lock('k')).release();
      expect(
        await scene.server.command('PUBSUB', 'CHANNELS', `{${scene.namespace}}:3/*`),
      ).not.toEqual([]);
      const waiter = watch(other.lock('k'));
      await expect.poll(() => other.waiting, soon).toBe(1);
      await expect.poll(async () => (await zero.query()).waiting.length, soon).toBe(1);
      await guard.release();
      const next = await waiter.promise;
      const last = watch(zero.lock('k'));
      await expect.poll(async () => (await other.query()).waiting.length, soon).toBe(1);
      await next.release();
      await (await last.promise).release();
    },
  );

  test('can be used for fencedSet', async () => {
    const client = await connect();
    expect(await fencedSet(client, `${scene.namespace}:v`, 'new', 2)).toBe(true);
    expect(await fencedSet(client, `${scene.namespace}:v`, 'old', 1)).toBe(false);
  });
});

test.each([
  ['a pool', createClientPool],
  ['a pool of node-redis 5', redis5.createClientPool as never as typeof createClientPool],
])('%s that is not connected is refused in time', async (_, create) => {
  const client = create({ url: scene.server.url });
  const mutex = mutexOn(client as RedisClient, { ttl: 50 });
  onTestFinished(() => mutex.close());
  await expect(mutex.lock('k')).rejects.toThrow(StoreError);
});

test('after a failover the mutex uses the new primary', { timeout: 60_000 }, async () => {
  const mutex = mutexOn(await lenders['a sentinel'](), {
    namespace: scene.namespace,
    ttl: 500,
  });
  onTestFinished(() => mutex.close());
  const before = await mutex.run('k', (guard) => guard.token);
  const later = { interval: 100, timeout: 20_000 };
  // The sentinel learns of the replica from the primary.
  await expect
    .poll(async () => String(await sentinel.command('SENTINEL', 'REPLICAS', 'primary')), later)
    .toContain(`${replica.port}`);
  await expect
    .poll(() => sentinel.command('SENTINEL', 'FAILOVER', 'primary').catch(String), later)
    .toBe('OK');
  await expect
    .poll(async () => String(await replica.command('INFO', 'replication')), later)
    .toContain('role:master');
  const role = () => scene.server.command('ROLE').then((role) => (role as string[])[0]);
  await expect.poll(role, later).toBe('slave');
  // Until the sentinel notifies the client, requests may be refused.
  const after = await expect
    .poll(() => mutex.run('k', (guard) => guard.token).catch(() => 0), later)
    .toBeGreaterThan(before)
    .then(() => mutex.run('k', (guard) => guard.token));
  expect(after).toBeGreaterThan(before);
  expect(await replica.command('KEYS', `{${scene.namespace}}:*`)).not.toEqual([]);
});
