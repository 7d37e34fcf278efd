/** What cases of a `select` do to a `RwLock`, a `Notify`, a `Condition` and a `Barrier`. */
import { nextMacrotask } from '@pointsman/spec';
import { describe, expect, test } from 'vitest';
import {
  Barrier,
  Condition,
  KeyedRwLock,
  Mutex,
  Notify,
  type Permit,
  RwLock,
  select,
  type WaitOptions,
} from '../index.js';

describe('RwLock', () => {
  test('of a read and a write of one lock, the one that is granted first takes effect', async () => {
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

  test('a writer whose select is won by another case admits the readers that waited for it', async () => {
    const lock = new RwLock();
    const notify = new Notify();
    const held = await lock.read();
    const won = select({
      write: (only) => lock.write(only),
      other: (only) => notify.notified(only),
    });
    const reader = lock.read();
    expect(lock.waiting).toBe(2);
    notify.notifyOne();
    expect([lock.readers, lock.waiting]).toEqual([2, 0]);
    expect((await won).key).toBe('other');
    held.release();
    (await reader).release();
    expect(lock.idle).toBe(true);
  });

  test('many selects over two locks: each gets one permit, and none is lost', async () => {
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

describe('Notify', () => {
  test('a stored notification is used by the case that wins only', async () => {
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

describe('Barrier', () => {
  test('a case that has lost in this step, but is still enqueued, does not count', async () => {
    const barrier = new Barrier(2);
    const notify = new Notify();
    const late: Promise<unknown>[] = [];
    const won = select(
      {
        // It learns first that it has lost, and waits at the barrier while the lost case is still enqueued.
        listener: ({ signal }) => {
          signal.addEventListener('abort', () => late.push(barrier.wait()));
          return new Promise(() => {});
        },
        meet: (only) => barrier.wait(only),
        other: (only) => notify.notified(only),
      },
      { biased: true },
    );
    await nextMacrotask();
    expect([barrier.waiting, notify.waiting]).toEqual([1, 1]);
    notify.notifyOne();
    expect((await won).key).toBe('other');
    expect(barrier.waiting).toBe(1);
    expect(await barrier.wait()).toEqual({ isLeader: true });
    expect(await late[0]).toEqual({ isLeader: false });
  });

  test('a wait that starts while a generation leaves belongs to the next', async () => {
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

  test('two selects meet', async () => {
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
        let called = false;
        const predicate = () => {
          const before = called;
          called = true;
          return before;
        };
        return condition.waitFor(lock, predicate, only);
      },
    ],
  ];

  test.each(waits)('%s loses: the lock is held again', async (_, wait) => {
    const mutex = new Mutex();
    const condition = new Condition(mutex);
    const lock = await mutex.lock();
    const notify = new Notify();
    const won = select({
      changed: (only) => wait(condition, lock, only),
      other: (only) => notify.notified(only),
    });
    await nextMacrotask();
    notify.notifyOne();
    expect([condition.waiting, mutex.locked]).toEqual([0, true]);
    expect((await won).key).toBe('other');
    await nextMacrotask();
    mutex.assertHeldBy(lock);
  });

  test('waitFor that was notified, and loses before it holds the lock, passes the notification on', async () => {
    const mutex = new Mutex();
    const condition = new Condition(mutex);
    const lock = await mutex.lock();
    const notify = new Notify();
    const jobs: string[] = [];
    const won = select({
      job: (only) => condition.waitFor(lock, () => jobs.length > 0, only),
      other: (only) => notify.notified(only),
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
    expect((await won).key).toBe('other');
    await nextMacrotask();
    mutex.assertHeldBy(lock);
    lock.release();
    await next;
    expect(jobs).toEqual(['sweep']);
  });
});
