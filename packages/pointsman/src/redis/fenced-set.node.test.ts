/** `fencedSet` refuses writes with older tokens. */

import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster } from 'redis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect, libraries } from '../../tests/redis/clients.js';
import { short, useServer } from '../../tests/redis/scene.js';
import { fencedSet } from './index.js';

const scene = useServer();

test.each(libraries)(
  'a higher or equal token writes, a lower one does not, with %s',
  async (library) => {
    const client = await connect(library, scene.server.port);
    const key = `${scene.namespace}:value`;
    expect(await fencedSet(client, key, 'one', 5)).toBe(true);
    expect(await fencedSet(client, key, 'two', 5)).toBe(true);
    expect(await fencedSet(client, key, 'late', 4)).toBe(false);
    expect(await scene.server.command('HGET', key, 'value')).toBe('two');
    expect(await fencedSet(client, key, 3.5, 6)).toBe(true);
    expect(await scene.server.command('HGET', key, 'value')).toBe('3.5');
    expect(await fencedSet(client, key, '', 7)).toBe(true);
    expect(await scene.server.command('HGET', key, 'value')).toBe('');
  },
);

test.each(libraries)('all digits of tokens are compared, with %s', async (library) => {
  const client = await connect(library, scene.server.port);
  const key = `${scene.namespace}:value`;
  const highest = Number.MAX_SAFE_INTEGER;
  expect(await fencedSet(client, key, 'new', highest)).toBe(true);
  expect(await fencedSet(client, key, 'late', highest - 1)).toBe(false);
  expect(await scene.server.command('HGET', key, 'value')).toBe('new');
});

test.each(libraries)('a holder that has lost its lock cannot write, with %s', async (library) => {
  const client = await connect(library, scene.server.port);
  const { proxy, mutex } = await scene.disturbed({ ttl: short });
  const other = await scene.process({ ttl: short });
  const key = `${scene.namespace}:value`;
  const stale = await mutex.lock(key);
  expect(await fencedSet(client, key, 'first', stale)).toBe(true);
  proxy.blackhole(true);
  await other.run(key, async (guard) => {
    expect(await fencedSet(client, key, 'second', guard)).toBe(true);
  });
  expect(await fencedSet(client, key, 'late', stale)).toBe(false);
  expect(await fencedSet(client, key, 'late', stale.token)).toBe(false);
  expect(await scene.server.command('HGET', key, 'value')).toBe('second');
});

const ioredis = async () => (await connect('ioredis', scene.server.port)) as Redis;

test('the value and its token are in one hash', async () => {
  const client = await ioredis();
  expect(await fencedSet(client, 'x', 'new', 200)).toBe(true);
  for (const other of ['{x}', '{x}:fence', 'x:fence', '{x}fence', 'x:', '{{x}}']) {
    expect(await fencedSet(client, other, 'v', 1)).toBe(true);
  }
  expect(await fencedSet(client, 'x', 'stale', 100)).toBe(false);
  expect(await client.hgetall('x')).toEqual({ value: 'new', fence: '200' });
});

test.each(['nan', '0x10', '-1', '1e9', 'inf', '', ' 7', '7 ', '7.5', 'abc'])(
  'a stored fence of %j is refused, and nothing is written',
  async (fence) => {
    const client = await ioredis();
    const key = `${scene.namespace}:value`;
    await client.hset(key, { value: 'before', fence });
    await expect(fencedSet(client, key, 'v', 5)).rejects.toThrow(/not a fencing token/);
    expect(await client.hgetall(key)).toEqual({ value: 'before', fence });
  },
);

test('a key that holds anything else is refused and not changed', async () => {
  const client = await ioredis();
  const key = `${scene.namespace}:value`;
  await client.set(key, 'text');
  await expect(fencedSet(client, key, 'v', 5)).rejects.toThrow(/WRONGTYPE/);
  expect(await client.get(key)).toBe('text');
  await client.del(key);
  await client.hset(key, { name: 'ann' });
  await expect(fencedSet(client, key, 'v', 5)).rejects.toThrow(/WRONGTYPE/);
  expect(await client.hgetall(key)).toEqual({ name: 'ann' });
});

test('a time to live is kept, and the fence expires with the value', async () => {
  const client = await ioredis();
  const key = `${scene.namespace}:value`;
  await fencedSet(client, key, 'one', 5);
  await client.pexpire(key, 50_000);
  await fencedSet(client, key, 'two', 6);
  expect(await client.pttl(key)).toBeGreaterThan(0);
  await client.del(key);
  expect(await fencedSet(client, key, 'three', 1)).toBe(true);
});

test('a released guard, or a guard of other keys, is refused', async () => {
  const client = await ioredis();
  const mutex = await scene.process();
  const key = `${scene.namespace}:value`;
  const guard = await mutex.lock([key, 'second']);
  expect(await fencedSet(client, key, 'v', guard)).toBe(true);
  await expect(fencedSet(client, 'other', 'v', guard)).rejects.toThrow(
    `fence must be a guard of "other" or a token, got a guard of ["second","${key}"]`,
  );
  expect(await fencedSet(client, 'other', 'v', guard.token)).toBe(true);
  await guard.release();
  await expect(fencedSet(client, key, 'late', guard)).rejects.toThrow(
    'fence must be a guard that has not been released',
  );
  expect(await client.hget(key, 'value')).toBe('v');
});

/** Keys with difficult hash tags. */
const tricky = [
  ...['a', 'a{b}c', '{a}', 'a{b}{c}', 'a{{b}}', '{{a}}b}', 'a}b', '}', '{', '{}', '{}a', '{}a{b}'],
  ...[
    'a{}b',
    'a{}b{c}d',
    'a{b',
    'a}b{c',
    'a}b{c}d',
    '}{',
    '{}}',
    'ä{}ö}',
    '{a',
    'with space}',
    '\n}',
  ],
];

describe('in a cluster any key can be fenced', () => {
  const scene = useServer({ cluster: true });
  const node = () => ({ host: '127.0.0.1', port: scene.server.port });
  const value = (key: string) => scene.server.command('HGET', key, 'value');
  const clusters = {
    ioredis: async (keyPrefix: string) => {
      const client = new Cluster([node()], { keyPrefix });
      onTestFinished(() => client.disconnect());
      return client;
    },
    'node-redis': async (keyPrefix: string) => {
      const rootNodes = [{ url: scene.server.url }];
      const client = createCluster({ rootNodes, keyPrefix });
      onTestFinished(() => client.destroy());
      await client.connect();
      return client;
    },
  };

  test.each(Object.entries(clusters))('%s', { timeout: 60_000 }, async (_, connect) => {
    for (const prefix of ['', 'my:', '{p}']) {
      const client = await connect(prefix);
      for (const key of tricky) {
        expect([prefix, key, await fencedSet(client, key, 'new', 2)]).toEqual([prefix, key, true]);
        expect([prefix, key, await fencedSet(client, key, 'old', 1)]).toEqual([prefix, key, false]);
        expect([prefix, key, await value(prefix + key)]).toEqual([prefix, key, 'new']);
      }
    }
  });
});

test("the client's prefix is added to the key, with both libraries", async () => {
  const options = { keyPrefix: 'app:' };
  const clients = [
    new Redis({ port: scene.server.port, ...options }),
    await createClient({ url: scene.server.url, ...options }).connect(),
  ] as const;
  onTestFinished(() => clients[0].disconnect());
  onTestFinished(() => clients[1].destroy());
  for (const [n, client] of clients.entries()) {
    expect(await fencedSet(client, `prefixed ${n}`, 'v', 1)).toBe(true);
    expect(await scene.server.command('HGET', `app:prefixed ${n}`, 'value')).toBe('v');
    expect(await scene.server.command('HGET', `app:prefixed ${n}`, 'fence')).toBe('1');
  }
});

test('an error reply rejects with the error of the client', async () => {
  const client = await connect('ioredis', scene.server.port);
  await scene.server.command('LPUSH', 'list', 'x');
  await expect(fencedSet(client, 'list', 'v', 1)).rejects.toThrow(/WRONGTYPE/);
});
