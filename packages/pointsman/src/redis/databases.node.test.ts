/** The same namespace in two databases of a server is two independent namespaces. */
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { expect, onTestFinished, test } from 'vitest';
import { handlers, mutexOn, useServer } from '../../tests/redis/scene.js';
import type { SharedGuard } from '../shared/index.js';

const scene = useServer();

const clients = {
  ioredis: (db: number) => {
    const client = new Redis({ port: scene.server.port, db });
    onTestFinished(() => client.disconnect());
    return client;
  },
  'node-redis': async (database: number) => {
    const client = createClient({ url: scene.server.url, database });
    onTestFinished(() => client.destroy());
    await client.connect();
    return client;
  },
};

test.each(
  handlers.flatMap((handler) =>
    (['ioredis', 'node-redis'] as const).map((library) => ({ handler, library })),
  ),
)('the first lock in a database does not wait for another: $handler, $library', async (way) => {
  const { library, handler } = way;
  const settings = { namespace: scene.namespace, handler, ttl: 1_000 };
  const make = async (number: number) => {
    const mutex = mutexOn(await clients[library](number), settings);
    onTestFinished(() => mutex.close());
    return mutex;
  };
  const [zero, one, other] = [await make(0), await make(1), await make(1)];
  const guard = await zero.lock('k');
  // If this namespace counted as lost, nothing would be granted at first.
  const held = (await one.tryLock('k')) as SharedGuard;
  expect(held).toBeDefined();
  expect(await other.tryLock('l')).toBeDefined();
  expect(await other.tryLock('k')).toBeUndefined();
  const next = other.lock('k');
  await expect.poll(async () => (await one.query()).waiting.length).toBe(1);
  await held.release();
  await (await next).release();
  expect(guard.valid).toBe(true);
});
