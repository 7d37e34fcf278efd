/**
 * A grant to a case of a `select` tells its other cases to leave, and what they do about it (a listener of their
 * signal) runs in the middle of the grant. Each call that they make finds and leaves a consistent state.
 */
import { expect, test } from 'vitest';
import {
  Broadcast,
  Channel,
  KeyedMutex,
  LaggedError,
  Notify,
  type Permit,
  type SelectSignal,
  select,
  Watch,
} from '../index.js';

/** Selects one wait, and does something in the step in which it is granted. */
async function whenGranted<T>(wait: (only: SelectSignal) => Promise<T>, act: () => void) {
  const first = select(
    {
      other: ({ signal }) => {
        signal.addEventListener('abort', act);
        return new Promise<never>(() => {});
      },
      wait,
    },
    { biased: true },
  );
  // The wait starts in the microtask after the other's.
  await Promise.resolve();
  return { first };
}

test('a notification that is given during another is kept', async () => {
  const notify = new Notify();
  const { first } = await whenGranted(
    (only) => notify.notified(only),
    () => notify.notifyOne(),
  );
  notify.notifyOne();
  expect((await first).key).toBe('wait');
  await notify.notified({ timeout: 0 });
});

test('a wait that starts while all are notified waits for the next notification', async () => {
  const notify = new Notify();
  let later: Promise<void> | undefined;
  const { first } = await whenGranted(
    (only) => notify.notified(only),
    () => {
      later = notify.notified();
    },
  );
  const both = [first, notify.notified()];
  notify.notifyWaiters();
  await Promise.all(both);
  expect(notify.waiting).toBe(1);
  notify.notifyOne();
  await later;
});

test('a key never has two locks, although it becomes idle twice in one step', async () => {
  const keyed = new KeyedMutex<string>();
  let mine: Permit | undefined;
  await keyed.run('a', (lock) => {
    lock.release();
    mine = keyed.tryLock('a');
  });
  expect(mine?.released).toBe(false);
  expect(keyed.tryLock('a')).toBeUndefined();
  mine?.release();
  expect(keyed.keyCount).toBe(0);
});

test('a broadcast that sends while it sends tells who is overtaken, and not the sender', async () => {
  const broadcast = new Broadcast<string>(1);
  const [one, other] = [broadcast.subscribe(), broadcast.subscribe()];
  const { first } = await whenGranted(
    (only) => one.receive(only),
    () => broadcast.send('b'),
  );
  const waits = [other.receive(), other.receive()];
  expect(broadcast.send('a')).toBe(2);
  expect((await first).value).toBe('a');
  expect(await Promise.allSettled(waits)).toEqual([
    { status: 'rejected', reason: expect.objectContaining({ name: 'LaggedError', missed: 1 }) },
    { status: 'fulfilled', value: 'b' },
  ]);
});

test('what was sent before the end reaches those who waited, also if it ends while it is sent', async () => {
  const broadcast = new Broadcast<string>(1);
  const [one, other] = [broadcast.subscribe(), broadcast.subscribe()];
  const { first } = await whenGranted(
    (only) => one.receive(only),
    () => broadcast.close(),
  );
  const waits = [other.receive(), other.receive()];
  broadcast.send('a');
  await first;
  expect(await Promise.allSettled(waits)).toMatchObject([
    { value: 'a' },
    { reason: { name: 'ClosedError' } },
  ]);
});

test('the last change reaches those who waited, also if the watch is closed meanwhile', async () => {
  const watch = new Watch(0);
  const [one, other] = [watch.subscribe(), watch.subscribe()];
  const { first } = await whenGranted(
    (only) => one.changed(only),
    () => watch.close(),
  );
  const waits = [other.changed(), other.changed()];
  watch.send(1);
  await first;
  expect(await Promise.all(waits)).toEqual([1, 1]);
});

test('a wait for a change that starts during a change waits for the next one', async () => {
  const watch = new Watch(0);
  const receiver = watch.subscribe();
  let later: Promise<number> | undefined;
  const { first } = await whenGranted(
    (only) => receiver.changed(only),
    () => {
      later = receiver.changed();
    },
  );
  const also = receiver.changed();
  watch.send(1);
  expect([(await first).value, await also]).toEqual([1, 1]);
  watch.send(2);
  expect(await later).toBe(2);
});

test('no case wins by a waiter whose signal has aborted', async () => {
  const channel = new Channel<number>(0);
  const controller = new AbortController();
  let send = (): Promise<void> => Promise.resolve();
  controller.signal.addEventListener('abort', () => {
    sent = send();
  });
  let sent: Promise<void> | undefined;
  const first = select(
    {
      received: (only) => channel.receive(only),
      never: new Promise<never>(() => {}),
      sent(only) {
        send = () => channel.send(1, only);
        controller.abort();
        return sent;
      },
    },
    { biased: true },
  );
  const aborted = channel.receive({ signal: controller.signal });
  await expect(aborted).rejects.toThrow('aborted');
  await Promise.resolve();
  expect([channel.waitingReceivers, channel.waitingSenders]).toEqual([1, 1]);
  channel.trySend(2);
  expect(await first).toEqual({ key: 'received', value: 2 });
});

test('a case that rejects with a LaggedError has won', async () => {
  const broadcast = new Broadcast<number>(1);
  const receiver = broadcast.subscribe();
  broadcast.send(1);
  broadcast.send(2);
  const notify = new Notify();
  notify.notifyOne();
  const first = select(
    {
      // The rejection comes some microtasks later.
      receive: async (only) => await receiver.receive(only),
      notified: (only) => notify.notified(only),
    },
    { biased: true },
  );
  await expect(first).rejects.toBeInstanceOf(LaggedError);
  await notify.notified({ timeout: 0 });
});
