/** The fenced store: whoever holds an older token cannot write any more. */

import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster } from 'redis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect, libraries } from '../../tests/redis/clients.js';
import { short, useServer } from '../../tests/redis/scene.js';
import { fencedSet } from './index.js';

const scene = useServer();

test.each(libraries)(
  'a higher or equal token writes, a lower does not, with %s',
  async (library) => {
    const client = await connect(library, scene.server.port);
    const key = `${scene.namespace}:value`;
    expect(await fencedSet(client, key, 'one', 5)).toBe(true);
    expect(await fencedSet(client, key, 'two', 5)).toBe(true);
    expect(await fencedSet(client, key, 'late', 4)).toBe(false);
    expect(await scene.server.command('GET', key)).toBe('two');
    expect(await fencedSet(client, key, 3.5, 6)).toBe(true);
    expect(await scene.server.command('GET', key)).toBe('3.5');
    expect(await fencedSet(client, key, '', 7)).toBe(true);
    expect(await scene.server.command('GET', key)).toBe('');
  },
);

test.each(libraries)('tokens are compared to the last digit, with %s', async (library) => {
  const client = await connect(library, scene.server.port);
  const key = `${scene.namespace}:value`;
  const highest = Number.MAX_SAFE_INTEGER;
  expect(await fencedSet(client, key, 'new', highest)).toBe(true);
  expect(await fencedSet(client, key, 'late', highest - 1)).toBe(false);
  expect(await scene.server.command('GET', key)).toBe('new');
});

test.each(libraries)(
  'a holder that has lost its lock cannot overwrite, with %s',
  async (library) => {
    const client = await connect(library, scene.server.port);
    const { proxy, mutex } = await scene.disturbed({ ttl: short });
    const other = await scene.process({ ttl: short });
    const key = `${scene.namespace}:value`;
    const stale = await mutex.lock('k');
    expect(await fencedSet(client, key, 'first', stale)).toBe(true);
    proxy.blackhole(true);
    await other.run('k', async (guard) => {
      expect(await fencedSet(client, key, 'second', guard)).toBe(true);
    });
    expect(await fencedSet(client, key, 'late', stale)).toBe(false);
    expect(await fencedSet(client, key, 'late', stale.token)).toBe(false);
    expect(await scene.server.command('GET', key)).toBe('second');
  },
);

test('the token lies beside the value, in the same slot of a cluster', async () => {
  const client = await connect('ioredis', scene.server.port);
  await fencedSet(client, 'plain', 'v', 7);
  await fencedSet(client, 'with:{tag}', 'v', 8);
  expect(await scene.server.command('GET', '{plain}:fence')).toBe('7');
  expect(await scene.server.command('GET', 'with:{tag}:fence')).toBe('8');
});

/** Keys as the hash tags of a cluster make them hard. */
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

describe('in a cluster the token lies in the slot of the value', () => {
  const scene = useServer({ cluster: true });
  const node = () => ({ host: '127.0.0.1', port: scene.server.port });
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
        expect([prefix, key, await client.get(key)]).toEqual([prefix, key, 'new']);
      }
    }
  });
});

test("the client's prefix is before the key, with both libraries", async () => {
  const options = { keyPrefix: 'app:' };
  const clients = [
    new Redis({ port: scene.server.port, ...options }),
    await createClient({ url: scene.server.url, ...options }).connect(),
  ] as const;
  onTestFinished(() => clients[0].disconnect());
  onTestFinished(() => clients[1].destroy());
  for (const [n, client] of clients.entries()) {
    expect(await fencedSet(client, `prefixed ${n}`, 'v', 1)).toBe(true);
    expect(await client.get(`prefixed ${n}`)).toBe('v');
    expect(await scene.server.command('GET', `app:{prefixed ${n}}:fence`)).toBe('1');
  }
});

test('an error of the server is that of the client', async () => {
  const client = await connect('ioredis', scene.server.port);
  await scene.server.command('LPUSH', '{list}:fence', 'x');
  await expect(fencedSet(client, 'list', 'v', 1)).rejects.toThrow(/WRONGTYPE/);
});
