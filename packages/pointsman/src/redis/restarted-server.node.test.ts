/** A server restarts with an older snapshot: locks granted since the snapshot are still held. */
import { expect, test } from 'vitest';
import { handlers, useServer } from '../../tests/redis/scene.js';

const scene = useServer();
const ttl = 1_000;

test.each(handlers)('with an older snapshot: %s', { timeout: 20_000 }, async (handler) => {
  const { proxy, mutex } = await scene.disturbed({ handler, ttl });
  const other = await scene.process({ handler, ttl });
  await other.run('x', () => {});
  await scene.server.command('SAVE');
  const guard = await mutex.lock('k');
  // The holder does not learn of the restart.
  proxy.blackhole(true);
  await scene.server.restart({ keepData: true });
  const late = await scene.process({ handler, ttl });
  // The order of the two requests is unknown.
  await Promise.all(
    [other, late].map(async (process) => {
      const next = await process.lock('k');
      expect([next.valid, guard.valid]).toEqual([true, false]);
      expect(next.token).toBeGreaterThan(guard.token);
      await next.release();
    }),
  );
});
