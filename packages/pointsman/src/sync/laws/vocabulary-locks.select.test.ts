/** Locks for readers and writers, notifications, conditions and meetings as cases of a `select`. */
import { nextMacrotask } from '@pointsman/spec';
import { describe, expect, test } from 'vitest';
import {
  Barrier,
  Condition,
  KeyedRwLock,
  Latch,
  Mutex,
  Notify,
  type Permit,
  RwLock,
  select,
  type WaitOptions,
} from '../index.js';

describe('RwLock', () => {
  test('to read or to write, whatever is first: one of them takes effect', async () => {
    const lock = new RwLock();
    const cases = {
      read: (only: WaitOptions) => lock.read(only),
      write: (only: WaitOptions) => lock.write(only),
    };
    const free = await select(cases, { biased: true });
    expect([free.key, lock.readers, lock.waiting]).toEqual(['read', 1, 0]);
    free.value.release();
    const held = await lock.write();
    const waits = select(cases);
    expect(lock.waiting).toBe(2);
    held.release();
    const { key, value } = await waits;
    expect([key, lock.readers, lock.writing, lock.waiting]).toEqual(['read', 1, false, 0]);
    value.release();
    expect(lock.idle).toBe(true);
  });

  test('a writer that wins elsewhere lets in the readers who waited for it, once', async () => {
    const lock = new RwLock();
    const notify = new Notify();
    const held = await lock.read();
    const won = select({
      write: (only) => lock.write(only),
      told: (only) => notify.notified(only),
    });
    const reader = lock.read();
    expect(lock.waiting).toBe(2);
    notify.notifyOne();
    expect([lock.readers, lock.waiting]).toEqual([2, 0]);
    expect((await won).key).toBe('told');
    held.release();
    (await reader).release();
    expect(lock.idle).toBe(true);
  });

  test('many selects over two locks: as a phase begins, each has one permit, and none is lost', async () => {
    const locks = [new RwLock(), new RwLock()] as const;
    const held = [await locks[0].write(), await locks[1].write()] as const;
    const all = Array.from({ length: 10 }, (_, n) =>
      select({
        one: (only) => (n % 3 ? locks[0].read(only) : locks[0].write(only)),
        other: (only) => (n % 2 ? locks[1].write(only) : locks[1].read(only)),
      }).then(async ({ value }) => {
        await nextMacrotask();
        value.release();
      }),
    );
    held[0].release();
    held[1].release();
    await Promise.all(all);
    expect(locks.map(({ idle }) => idle)).toEqual([true, true]);
  });

  test('with keys: the key of the case that loses is dropped', async () => {
    const keyed = new KeyedRwLock<string>();
    const held = [await keyed.write('a'), await keyed.read('b')] as const;
    const won = select({
      a: (only) => keyed.read('a', only),
      b: (only) => keyed.write('b', only),
    });
    held[0].release();
    expect(keyed.waitingFor('b')).toBe(0);
    const { key, value } = await won;
    expect([key, keyed.keyCount]).toEqual(['a', 2]);
    value.release();
    held[1].release();
    expect(keyed.keyCount).toBe(0);
  });
});

const kept = new Notify();
const lock = new RwLock();
const keyed = new KeyedRwLock<string>();
const mutex = new Mutex();

test.each<[string, (only: WaitOptions) => Promise<unknown>]>([
  ['RwLock.read', (only) => lock.read(only)],
  ['RwLock.write', (only) => lock.write(only)],
  ['RwLock.runWrite', (only) => lock.runWrite(() => {}, only)],
  ['KeyedRwLock.write', (only) => keyed.write('key', only)],
  ['Notify.notified', (only) => kept.notified(only)],
  ['Barrier.wait', (only) => new Barrier(1).wait(only)],
  ['Latch.wait', (only) => new Latch(0).wait(only)],
])('%s that need not wait makes the others leave in this very step', async (_, start) => {
  kept.notifyOne();
  const other = new Notify();
  const won = select({ waits: (only) => other.notified(only), now: start }, { biased: true });
  expect(other.waiting).toBe(0);
  const { key, value } = await won;
  expect(key).toBe('now');
  (value as Partial<Permit> | undefined)?.release?.();
});

test('Condition.waitFor that need not wait makes the others leave, and keeps the lock', async () => {
  const held = await mutex.lock();
  const other = new Notify();
  const won = select(
    {
      waits: (only) => other.notified(only),
      now: (only) => new Condition(mutex).waitFor(held, () => true, only),
    },
    { biased: true },
  );
  expect((await won).key).toBe('now');
  expect(other.waiting).toBe(0);
  mutex.assertHeldBy(held);
});

describe('Notify', () => {
  test('one that is kept is used by the case that wins, and by no other', async () => {
    const one = new Notify();
    const other = new Notify();
    one.notifyOne();
    other.notifyOne();
    const { key } = await select(
      { one: (only) => one.notified(only), other: (only) => other.notified(only) },
      { biased: true },
    );
    expect(key).toBe('one');
    await other.notified({ timeout: 0 });
    await expect(one.notified({ timeout: 0 })).rejects.toThrow('timed out');
  });

  test('twice in one select: one notification is used, the second reaches the next', async () => {
    const notify = new Notify();
    const cases = {
      first: (only: WaitOptions) => notify.notified(only),
      second: (only: WaitOptions) => notify.notified(only),
    };
    const won = select(cases);
    expect(notify.waiting).toBe(2);
    notify.notifyOne();
    expect(notify.waiting).toBe(0);
    notify.notifyOne();
    await won;
    await notify.notified({ timeout: 0 });
    const all = [select(cases), select(cases), select(cases)];
    notify.notifyWaiters();
    await Promise.all(all);
    expect(notify.waiting).toBe(0);
  });
});

describe('Barrier and Latch', () => {
  test('who goes elsewhere has not come', async () => {
    const barrier = new Barrier(2);
    const latch = new Latch(1);
    const won = select({ meet: (only) => barrier.wait(only), open: (only) => latch.wait(only) });
    expect([barrier.waiting, latch.waiting]).toEqual([1, 1]);
    latch.countDown();
    expect([(await won).key, barrier.waiting]).toEqual(['open', 0]);
    const first = barrier.wait();
    const second = await select({ meet: (only) => barrier.wait(only), late: 60_000 });
    expect(second).toEqual({ key: 'meet', value: { isLeader: true } });
    expect(await first).toEqual({ isLeader: false });
  });

  test('who has won elsewhere in this very step, and was not yet told, is not met', async () => {
    const barrier = new Barrier(2);
    const notify = new Notify();
    const late: Promise<unknown>[] = [];
    const won = select(
      {
        // It is told first that it has lost, and comes to the barrier while the next still stands there.
        listener: ({ signal }) => {
          signal.addEventListener('abort', () => late.push(barrier.wait()));
          return new Promise(() => {});
        },
        meet: (only) => barrier.wait(only),
        told: (only) => notify.notified(only),
      },
      { biased: true },
    );
    await nextMacrotask();
    expect([barrier.waiting, notify.waiting]).toEqual([1, 1]);
    notify.notifyOne();
    expect((await won).key).toBe('told');
    expect(barrier.waiting).toBe(1);
    expect(await barrier.wait()).toEqual({ isLeader: true });
    expect(await late[0]).toEqual({ isLeader: false });
  });

  test('who comes while a generation leaves belongs to the next', async () => {
    const barrier = new Barrier(2);
    let late: Promise<unknown> | undefined;
    const won = select(
      {
        listener: ({ signal }) => {
          signal.addEventListener('abort', () => {
            late = barrier.wait();
          });
          return new Promise(() => {});
        },
        meet: (only) => barrier.wait(only),
      },
      { biased: true },
    );
    await nextMacrotask();
    expect(await barrier.wait()).toEqual({ isLeader: true });
    expect((await won).key).toBe('meet');
    expect(barrier.waiting).toBe(1);
    await barrier.wait();
    expect(await late).toEqual({ isLeader: false });
  });

  test('both ends of a meeting are selects', async () => {
    const barrier = new Barrier(2);
    const go = () => select({ meet: (only) => barrier.wait(only), never: new Promise(() => {}) });
    const both = await Promise.all([go(), go()]);
    expect(both.map(({ key }) => key)).toEqual(['meet', 'meet']);
    expect(barrier.waiting).toBe(0);
  });
});

describe('Condition', () => {
  const waits: [
    string,
    (condition: Condition, lock: Permit, only: WaitOptions) => Promise<void>,
  ][] = [
    ['wait', (condition, lock, only) => condition.wait(lock, only)],
    [
      'waitFor',
      (condition, lock, only) => {
        let asked = false;
        const predicate = () => {
          const before = asked;
          asked = true;
          return before;
        };
        return condition.waitFor(lock, predicate, only);
      },
    ],
  ];

  test.each(waits)('%s wins by a notification', async (_, wait) => {
    const mutex = new Mutex();
    const condition = new Condition(mutex);
    const lock = await mutex.lock();
    const notify = new Notify();
    const won = select({
      changed: (only) => wait(condition, lock, only),
      told: (only) => notify.notified(only),
    });
    await nextMacrotask();
    expect([condition.waiting, notify.waiting]).toEqual([1, 1]);
    condition.notify();
    expect((await won).key).toBe('changed');
    expect(notify.waiting).toBe(0);
    mutex.assertHeldBy(lock);
  });

  test.each(waits)(
    '%s loses: the lock is held again, and a notification is for others',
    async (_, wait) => {
      const mutex = new Mutex();
      const condition = new Condition(mutex);
      const lock = await mutex.lock();
      const notify = new Notify();
      const won = select({
        changed: (only) => wait(condition, lock, only),
        told: (only) => notify.notified(only),
      });
      await nextMacrotask();
      notify.notifyOne();
      expect([condition.waiting, mutex.locked]).toEqual([0, true]);
      expect((await won).key).toBe('told');
      await nextMacrotask();
      mutex.assertHeldBy(lock);
    },
  );

  test('waitFor that was notified, and loses before it holds the lock, passes the notification on', async () => {
    const mutex = new Mutex();
    const condition = new Condition(mutex);
    const lock = await mutex.lock();
    const notify = new Notify();
    const jobs: string[] = [];
    const won = select({
      job: (only) => condition.waitFor(lock, () => jobs.length > 0, only),
      told: (only) => notify.notified(only),
    });
    await nextMacrotask();
    const second = await mutex.lock();
    const next = condition.waitFor(second, () => jobs.length > 0);
    await nextMacrotask();
    const putter = await mutex.lock();
    jobs.push('sweep');
    condition.notify();
    notify.notifyOne();
    putter.release();
    expect((await won).key).toBe('told');
    await nextMacrotask();
    mutex.assertHeldBy(lock);
    lock.release();
    await next;
    expect(jobs).toEqual(['sweep']);
  });
});
