import { afterEach, expect, jest, test } from '@jest/globals';
import { Latch } from 'pointsman';
import { Pool } from 'pointsman/pool';
import { Mails } from '../mails.js';

afterEach(() => {
  jest.useRealTimers();
});

test('one mail a second', async () => {
  jest.useFakeTimers();
  const delivered: string[] = [];
  const mails = new Mails(async (address) => {
    delivered.push(address);
  });
  const all = Promise.all(['ann', 'bob', 'cid'].map((address) => mails.send(address, 'hello')));
  await jest.advanceTimersByTimeAsync(1_000);
  expect(delivered).toEqual(['ann', 'bob']);
  await jest.advanceTimersByTimeAsync(1_000);
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
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toBe(1);
  gate.countDown();
  await both;
  expect(begun).toBe(2);
});

test('a pool', async () => {
  await using pool = new Pool<typeof import('../words.js')>({
    module: new URL('../words.js', import.meta.url),
    threads: 1,
  });
  expect(await pool.run('count', ['to be or not'])).toBe(4);
});
