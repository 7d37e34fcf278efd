/** Limiters whose store has lost their starts: what belongs to those gives nothing of the later ones back. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { folderIn, temporaryFolder } from '../../../tests/host/processes.js';
import { handlers, soon, useServer } from '../../../tests/redis/scene.js';
import { host } from '../../host/index.js';
import { SharedLimiter, type Store } from '../index.js';

const scene = useServer();
/** The starts of a minute are in one part of the window, and so in one entry of the store. */
const rate = { limit: 100, per: 3_600_000 };

function limiterOn(store: Store): SharedLimiter {
  const limiter = new SharedLimiter(store, 'api', { rate, deadline: 10_000 });
  onTestFinished(() => limiter.close());
  return limiter;
}

/** What is left of the limit; undefined while the store is unreachable. */
const remaining = (limiter: SharedLimiter) =>
  limiter.check(undefined, { weight: 0 }).then(
    (check) => check.remaining,
    () => undefined,
  );

async function expectOnlyLaterStarts(store: () => Promise<Store> | Store, lose: () => unknown) {
  const [a, b] = [limiterOn(await store()), limiterOn(await store())];
  const early = await a.reserve(50);
  expect(await remaining(b)).toBe(50);
  await lose();
  for (const limiter of [a, b]) await expect.poll(() => remaining(limiter), soon).toBe(100);
  await b.acquire({ weight: 30 });
  early.settle(0);
  expect(await remaining(a)).toBe(70);
  const late = await a.reserve(20);
  late.settle(5);
  early.settle(10);
  // What is used in addition counts in any case.
  expect(await remaining(a)).toBe(55);
}

test.each(handlers)('a server that restarts without data: %s', async (handler) => {
  await expectOnlyLaterStarts(
    () => scene.store({ handler }),
    () => scene.server.restart(),
  );
});

test('a server that does not tell its run: a start gives nothing back on another connection', async () => {
  const user = { username: 'quiet', password: 'password' };
  const rule = ['on', `>${user.password}`, '~*', '&*', '+@all', '-info'];
  await scene.server.command('ACL', 'SETUSER', user.username, ...rule);
  const proxy = await scene.proxy();
  const limiter = limiterOn(await scene.store({ library: 'node-redis', port: proxy.port, user }));
  const early = await limiter.reserve(50);
  early.settle(40);
  expect(await remaining(limiter)).toBe(60);
  proxy.cut();
  await expect.poll(() => remaining(limiter), soon).toBe(60);
  early.settle(0);
  const late = await limiter.reserve(30);
  late.settle(20);
  expect(await remaining(limiter)).toBe(40);
});

test('a namespace of this machine whose files are deleted', async () => {
  const directory = temporaryFolder();
  const store = (): Store => {
    const made = host('test', { directory, ttl: 1_000 });
    onTestFinished(() => made.close());
    return made;
  };
  await expectOnlyLaterStarts(store, () => {
    for (const name of readdirSync(folderIn(directory))) {
      if (name !== 'namespace') rmSync(join(folderIn(directory), name));
    }
  });
});
