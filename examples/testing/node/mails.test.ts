import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Latch } from 'pointsman';
import { Pool } from 'pointsman/pool';
import { Mails } from '../mails.js';

test('one mail a second', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const delivered: string[] = [];
  const mails = new Mails(async (address) => {
    delivered.push(address);
  });
  const all = Promise.all(['ann', 'bob', 'cid'].map((address) => mails.send(address, 'hello')));
  for (const expected of [['ann'], ['ann', 'bob']]) {
    await setImmediate();
    assert.deepEqual(delivered, expected);
    t.mock.timers.tick(1_000);
  }
  await all;
});

test('an address gets one mail at a time', async () => {
  const gate = new Latch(1);
  let begun = 0;
  const mails = new Mails(async () => {
    begun++;
    await gate.wait();
  });
  mails.limiter.setLimits({ rate: { limit: 100, per: 1_000 } });
  const both = Promise.all([mails.send('ann', 'first'), mails.send('ann', 'second')]);
  await setImmediate();
  assert.equal(begun, 1);
  gate.countDown();
  await both;
  assert.equal(begun, 2);
});

test('a pool', async () => {
  await using pool = new Pool<typeof import('../words.js')>({
    module: new URL('../words.js', import.meta.url),
    threads: 1,
  });
  assert.equal(await pool.run('count', ['to be or not']), 4);
});
