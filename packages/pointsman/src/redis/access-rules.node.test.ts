/** The access rules in the guide are sufficient, for both client libraries. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { connect } from '../../tests/redis/clients.js';
import { modes, soon, useServer } from '../../tests/redis/scene.js';
import { SharedLimiter } from '../shared/index.js';
import { fencedSet } from './index.js';

const guide = readFileSync(new URL('../../../../docs/redis.md', import.meta.url), 'utf8');
const rules = [...guide.matchAll(/^ACL (SETUSER (\S+) .*)$/gm)].map(([, rule = '', user = '']) => ({
  user,
  words: rule.split(' ') as [string, ...string[]],
}));

const scene = useServer();
const namespace = 'pointsman';

beforeAll(async () => {
  expect(rules.map(({ user }) => user)).toEqual(['app-script', 'app-pure', 'app-fence']);
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
      const limits = { concurrency: 2, rate: { limit: 1, per: 100 } };
      const limiter = new SharedLimiter(await scene.store(settings), 'api', limits);
      await Promise.all([1, 2].map(() => limiter.run(() => {})));
      await limiter.penalize(1);
      await limiter.shutdown();
      const refused = await scene.server.command('ACL', 'LOG');
      const commands = (refused as string[][]).map((entry) => `${entry[5]} ${entry[7]}`);
      expect(commands.filter((entry) => !/client|hello|select/i.test(entry))).toEqual([]);
      await Promise.all([mutex.shutdown(), other.shutdown()]);
    });
  });

  test('a fenced write is allowed', async () => {
    const user = { username: 'app-fence', password: 'password' };
    const client = await connect(library, scene.server.port, user);
    expect(await fencedSet(client, 'report:1', 'v', 1)).toBe(true);
    await expect(fencedSet(client, 'other', 'v', 1)).rejects.toThrow(/NOPERM|No permissions|ACL/);
  });
});
