/** The access rules in the guides are sufficient, for both client libraries. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { connect } from '../../tests/redis/clients.js';
import { modes, soon, useServer } from '../../tests/redis/scene.js';
import { expressRateLimitStore, SharedLimiter, type Store } from '../shared/index.js';
import { fencedSet } from './index.js';

const docs = new URL('../../../../docs/', import.meta.url);
const guides = ['redis.md', 'shared/rate-limiting.md'].map((name) =>
  readFileSync(new URL(name, docs), 'utf8'),
);
const rules = [...guides.join('').matchAll(/^ACL (SETUSER (\S+) .*)$/gm)].map(
  ([, rule = '', user = '']) => ({
    user,
    words: rule.split(' ') as [string, ...string[]],
  }),
);

const scene = useServer();
const namespace = 'pointsman';

/** The commands that the server has refused, without those of the client library. */
async function refused(): Promise<string[]> {
  const entries = (await scene.server.command('ACL', 'LOG')) as string[][];
  const commands = entries.map((entry) => `${entry[5]} ${entry[7]}`);
  return commands.filter((entry) => !/client|hello|select/i.test(entry));
}

beforeAll(async () => {
  expect(rules.map(({ user }) => user)).toEqual([
    'app-script',
    'app-pure',
    'app-fence',
    'app-limits',
  ]);
  for (const { words } of rules) await scene.server.command('ACL', ...words);
});

const libraries = ['ioredis', 'node-redis'] as const;

describe.each(libraries)('%s', (library) => {
  describe.each(['script', 'pure'] as const)('%s', (handler) => {
    test.each(modes)('all operations of a mutex are allowed: %s', async (mode) => {
      await scene.server.command('ACL', 'LOG', 'RESET');
      const user = { username: `app-${handler}`, password: 'password' };
      const settings = { library, handler, mode, namespace, user };
      const [mutex, other] = [await scene.process(settings), await scene.process(settings)];
      const guard = await mutex.lock(['k', 'l']);
      expect(await other.tryLock('k')).toBeUndefined();
      const served = Promise.all([
        other.run('k', () => {}),
        mutex.run('l', () => {}),
        other.run('l', () => {}),
      ]);
      await expect.poll(async () => (await mutex.query()).waiting.length, soon).toBeGreaterThan(1);
      await guard.extend();
      await guard.release();
      await served;
      const condition = mutex.condition('c');
      const parked = mutex.run('k', (guard) => condition.wait(guard));
      await expect.poll(() => condition.notify(), soon).toBe(1);
      expect(await parked).toBe(true);
      const lost = await mutex.lock('k');
      expect(await other.forceUnlock('k')).toHaveLength(1);
      await expect.poll(() => lost.signal.aborted, soon).toBe(true);
      // Several concurrent processes, so that those with the handler `pure` queue to write.
      await Promise.all(
        [mutex, other].flatMap((each) => [1, 2, 3, 4].map((n) => each.run(`${n}`, () => {}))),
      );
      expect(await refused()).toEqual([]);
      await Promise.all([mutex.shutdown(), other.shutdown()]);
    });

    test('all operations of a limiter are allowed', async () => {
      await scene.server.command('ACL', 'LOG', 'RESET');
      const user = { username: `app-${handler}`, password: 'password' };
      const settings = { library, handler, namespace, user };
      const stores: Store[] = [await scene.store(settings), await scene.store(settings)];
      const rate = { limit: 4, per: 60_000 };
      const [limiter, other] = stores.map(
        (store) =>
          new SharedLimiter(store, `${library}:${handler}`, {
            concurrency: 2,
            rate,
            perKey: { rate },
            lease: 2,
          }),
      ) as [SharedLimiter, SharedLimiter];
      const permit = await limiter.acquire({ key: 'k', weight: 2 });
      permit.settle(1);
      permit.release();
      await expect.poll(async () => (await other.check('k', { weight: 0 })).remaining).toBe(3);
      expect(await other.run(() => 'done', { key: 'k' })).toBe('done');
      await other.penalize(1, 'k');
      expect(await refused()).toEqual([]);
      await Promise.all([limiter.shutdown(), other.shutdown()]);
    });
  });

  test('all operations of a limiter without concurrency are allowed', async () => {
    await scene.server.command('ACL', 'LOG', 'RESET');
    const user = { username: 'app-limits', password: 'password' };
    const store = await scene.store({ library, namespace, user });
    const limiter = new SharedLimiter(store, library, { rate: { limit: 2, per: 60_000 } });
    expect(await limiter.run(() => 'done')).toBe('done');
    await limiter.penalize(1);
    expect(await limiter.check()).toMatchObject({ limit: 2 });
    expect(await refused()).toEqual([]);
    await limiter.close();
  });

  test.each(['app-script', 'app-pure', 'app-limits'])(
    'counts are allowed: %s',
    async (username) => {
      await scene.server.command('ACL', 'LOG', 'RESET');
      const user = { username, password: 'password' };
      const handler = username === 'app-pure' ? 'pure' : 'script';
      const connections = await scene.store({ library, namespace, user, handler });
      const store = expressRateLimitStore(connections, `${library} ${username}`);
      store.init({ windowMs: 60_000 });
      await store.increment('a');
      await store.decrement('a');
      expect((await store.get('a'))?.totalHits).toBe(0);
      await store.resetKey('a');
      expect(await refused()).toEqual([]);
      await store.shutdown();
    },
  );

  test('a fenced write is allowed', async () => {
    const user = { username: 'app-fence', password: 'password' };
    const client = await connect(library, scene.server.port, user);
    expect(await fencedSet(client, 'report:1', 'v', 1)).toBe(true);
    await expect(fencedSet(client, 'other', 'v', 1)).rejects.toThrow(/NOPERM|No permissions|ACL/);
  });
});
