/** Fake timers of the program do not hold up a pool: its messages leave at the end of the turn all the same. */
import { install } from '@sinonjs/fake-timers';
import { expect, onTestFinished, test } from 'vitest';
import { openWarm } from '../../tests/pool/pools.js';

test('a task is sent and answered while queueMicrotask is replaced', async () => {
  const { pool } = await openWarm();
  const clock = install({ toFake: ['queueMicrotask'] });
  onTestFinished(() => clock.uninstall());
  expect(await pool.run('echo', [1])).toBe(1);
});
