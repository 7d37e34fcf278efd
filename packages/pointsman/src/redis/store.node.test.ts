/** The store and the client that it is made with. */
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { mutexOn, useServer } from '../../tests/redis/scene.js';
import { redis } from './index.js';

const scene = useServer();

describe('the client', () => {
  const connected = () => {
    const client = new Redis({ port: scene.server.port, keyPrefix: 'app:' });
    onTestFinished(() => client.disconnect());
    return client;
  };

  test('is neither used nor closed', async () => {
    const client = connected();
    await client.set('x', '1');
    const mutex = mutexOn(client, { namespace: scene.namespace, ttl: 1_000 });
    await mutex.lock('a');
    await mutex.close();
    expect(client.status).toBe('ready');
    expect(await client.get('x')).toBe('1');
  });

  test('determines the prefix of all keys', async () => {
    const mutex = mutexOn(connected(), { namespace: scene.namespace, ttl: 1_000 });
    onTestFinished(() => mutex.close());
    const other = await scene.process();
    await mutex.lock('a');
    expect(await other.tryLock('a')).toMatchObject({ valid: true });
    expect(await scene.server.command('KEYS', `app:{${scene.namespace}}:*`)).not.toEqual([]);
  });

  test('is not connected to before the store is used', async () => {
    const client = new Redis({ port: scene.server.port, lazyConnect: true });
    onTestFinished(() => client.disconnect());
    const mutex = mutexOn(client);
    await mutex.close();
    expect(client.status).toBe('wait');
    expect(mutex.metrics.batches).toBe(0);
  });
});

test('a store has the namespace pointsman and a ttl of 5 seconds by default', () => {
  const client = new Redis({ lazyConnect: true });
  expect(redis(client)).toMatchObject({ namespace: 'pointsman', ttl: 5_000 });
});
