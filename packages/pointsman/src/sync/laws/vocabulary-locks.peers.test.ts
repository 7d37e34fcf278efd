/**
 * Defects of other locks for readers and writers, conditions and barriers, reproduced or reported there. Each test
 * does what goes wrong; the comment says what happens.
 */
import { nextMacrotask } from '@pointsman/spec';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Barrier, Condition, KeyedRwLock, Mutex, RwLock } from '../index.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

// The one whose time was over stays in the queue and is let in later; nobody ever leaves for it.
test.each(['read', 'write'] as const)('after a timeout the lock goes on: %s', async (kind) => {
  const lock = new RwLock();
  const held = await (kind === 'read' ? lock.write() : lock.read());
  const late = lock[kind]({ timeout: 10 });
  vi.advanceTimersByTime(10);
  await expect(late).rejects.toThrow('timed out');
  held.release();
  (await lock.write({ timeout: 0 })).release();
  (await lock.read({ timeout: 0 })).release();
});

// A timeout takes the front out of the queue, and not the one whose time was over.
test('a timeout takes out the one whose time was over, and nobody else', async () => {
  const lock = new RwLock();
  const held = await lock.write();
  const first = lock.write();
  const late = lock.write({ timeout: 10 });
  vi.advanceTimersByTime(10);
  await expect(late).rejects.toThrow('timed out');
  held.release();
  (await first).release();
  expect(lock.idle).toBe(true);
});

// Readers go on coming in beside each other while a writer waits, for as long as they come.
test('readers who overlap without end let a writer in', async () => {
  const lock = new RwLock();
  let inside = await lock.read();
  const writer = lock.write();
  for (let n = 0; n < 10 && !lock.writing; n++) {
    const next = lock.read();
    inside.release();
    if (!lock.writing) inside = await next;
  }
  expect(lock.writing).toBe(true);
  (await writer).release();
});

// Writers are preferred, and readers wait until no writer comes any more.
test('writers who overlap without end let readers in', async () => {
  const lock = new RwLock();
  let inside = await lock.write();
  const reader = lock.read();
  for (let n = 0; n < 10 && lock.readers === 0; n++) {
    const next = lock.write();
    inside.release();
    if (lock.readers === 0) inside = await next;
  }
  expect(lock.readers).toBe(1);
  (await reader).release();
});

// Who unlocks is not asked who it is: the second unlock of one lets another in beside a third.
test('a second release lets nobody in', async () => {
  const lock = new RwLock();
  const held = await lock.write();
  const writers = [lock.write(), lock.write()];
  held.release();
  held.release();
  expect(lock.waiting).toBe(1);
  for (const writer of writers) (await writer).release();
  const readers = [await lock.read(), await lock.read()];
  readers[0]?.release();
  readers[0]?.release();
  expect([lock.readers, lock.tryWrite()]).toEqual([1, undefined]);
  readers[1]?.release();
});

// The readers who stand behind a writer stay there when it gives up, until somebody else leaves.
test('a writer that gives up lets the readers behind it in', async () => {
  const lock = new RwLock();
  const held = await lock.read();
  const controller = new AbortController();
  const writer = lock.write({ signal: controller.signal });
  const reader = lock.read();
  controller.abort('gone');
  await expect(writer).rejects.toBe('gone');
  (await reader).release();
  held.release();
});

// To go on as a reader is to unlock and to read: another writer comes in between.
test('what a writer has written is what it reads after a downgrade', async () => {
  const lock = new RwLock();
  let value = 0;
  const write = await lock.write();
  value = 1;
  const other = lock.runWrite(() => {
    value = 2;
  });
  const read = write.downgrade();
  await nextMacrotask();
  expect(value).toBe(1);
  read.release();
  await other;
  expect(value).toBe(2);
});

// A key stays in the table for ever; and some keys are names of what every object has.
test('keys are dropped, and may have any name', async () => {
  const keyed = new KeyedRwLock<unknown>();
  for (const key of ['hasOwnProperty', '__proto__', 'constructor', {}, Number.NaN]) {
    const write = await keyed.write(key);
    const reader = keyed.read(key);
    expect([keyed.waitingFor(key), keyed.keyCount]).toEqual([1, 1]);
    write.release();
    (await reader).release();
  }
  expect(keyed.keyCount).toBe(0);
});

// Who waits until it is unlocked finds it locked again when it goes on.
test('who has waited for a condition holds the lock when it goes on', async () => {
  const mutex = new Mutex();
  const condition = new Condition(mutex);
  const lock = await mutex.lock();
  const wait = condition.wait(lock);
  const greedy = (async () => {
    for (let n = 0; n < 10; n++) {
      using _held = await mutex.lock();
      condition.notify();
      await null;
    }
  })();
  await wait;
  mutex.assertHeldBy(lock);
  lock.release();
  await greedy;
});

// Who gives up is counted all the same, the next come too few; and after the first time it holds nobody back.
test('a barrier counts only those who are there, each time anew', async () => {
  const barrier = new Barrier(2);
  const gone = barrier.wait({ timeout: 10 });
  vi.advanceTimersByTime(10);
  await expect(gone).rejects.toThrow('timed out');
  for (let n = 0; n < 3; n++) {
    let met = false;
    const first = barrier.wait().then(() => {
      met = true;
    });
    await nextMacrotask();
    expect(met).toBe(false);
    await Promise.all([first, barrier.wait()]);
  }
});

// A reader who reads again while a writer waits waits for that writer, which waits for it: the lock cannot know that
// both are one, but a bound on the wait ends it and leaves nothing behind.
test('a reader who reads again behind a writer can give up, and all goes on', async () => {
  const lock = new RwLock();
  const outer = await lock.read();
  const writer = lock.write();
  const inner = lock.read({ timeout: 10 });
  vi.advanceTimersByTime(10);
  await expect(inner).rejects.toThrow('timed out');
  outer.release();
  (await writer).release();
  expect(lock.idle).toBe(true);
});
