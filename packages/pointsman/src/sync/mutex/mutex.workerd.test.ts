/**
 * A waiter's timer belongs to the waiter's request, and workerd lets no other request stop it. So
 * when the lock comes from another request, the timer runs on and fires while the lock is held.
 */
import { expect, test } from 'vitest';
import { handle, request } from '../../../tests/runtimes/inside/requests.js';
import { Mutex } from '../index.js';

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

test.each([
  ['a timeout', () => ({ timeout: 50 })],
  ['a signal with a timeout', () => ({ signal: AbortSignal.timeout(50) })],
])(
  '%s that passes after the lock came from another request does nothing',
  async (name, options) => {
    const mutex = new Mutex();
    const path = `/${name.replaceAll(' ', '-')}`;
    handle(`${path}/first`, async () => {
      const lock = await mutex.lock();
      while (mutex.waiting === 0) await pause(1);
      lock.release();
      return new Response('released');
    });
    handle(`${path}/second`, async () => {
      const lock = await mutex.lock(options());
      // Armed later and for longer than the one that it waits for.
      await pause(100);
      mutex.assertHeldBy(lock);
      const { locked, waiting } = mutex;
      lock.release();
      return Response.json({ locked, waiting });
    });
    const first = request(`${path}/first`);
    const second = request(`${path}/second`);
    expect(await (await first).text()).toBe('released');
    expect(await (await second).json()).toEqual({ locked: true, waiting: 0 });
    expect([mutex.locked, mutex.waiting]).toEqual([false, 0]);
    const lock = await mutex.lock();
    const next = mutex.lock({ timeout: 1_000 });
    lock.release();
    expect((await next).released).toBe(false);
  },
);
