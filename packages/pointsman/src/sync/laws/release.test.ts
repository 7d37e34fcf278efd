/** A permit is given back once, however its holder ends. */
import { describe, expect, test } from 'vitest';
import { dispose } from '../dispose.js';
import { holders } from './holders.js';

describe.each(Object.entries(holders))('%s', (_, create) => {
  test.each([
    ['release', 'release'],
    ['dispose', dispose],
  ] as const)('a second %s does not admit another request', async (_, method) => {
    const { object, request, tries } = create();
    const first = await request();
    const waiters = [request(), request({ timeout: 60_000 })] as const;
    const waiting = object.waiting / 2;
    for (let n = 0; n < 3; n++) first[method]();
    expect([first.released, object.waiting]).toEqual([true, waiting]);
    const second = await waiters[0];
    first[method]();
    expect([second.released, object.waiting, tries()]).toEqual([false, waiting, undefined]);
    second[method]();
    (await waiters[1])[method]();
    await object.drain({ timeout: 0 });
    const next = tries();
    first[method]();
    expect([next?.released, tries()]).toEqual([false, undefined]);
  });

  test.each<[string, () => unknown]>([
    [
      'throws at once',
      () => {
        throw 'failed';
      },
    ],
    ['rejects', () => Promise.reject('failed')],
  ])('run gives its permit back when the function %s, at once or in its turn', async (_, fn) => {
    const { object, request, run } = create();
    await expect(run(fn)).rejects.toBe('failed');
    await object.drain({ timeout: 0 });
    const held = await request();
    const runs = [run(fn), run(() => 'next')] as const;
    held.release();
    await expect(runs[0]).rejects.toBe('failed');
    expect(await runs[1]).toBe('next');
    await object.drain({ timeout: 0 });
  });
});
