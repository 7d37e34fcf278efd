/** What other packages of this kind got wrong, as their own trackers tell. Each of it is right here. */
import { nextMacrotask } from '@pointsman/spec';
import { expect, test } from 'vitest';
import { Channel, ClosedError } from '../index.js';

const gone = new Error('gone');

test('receivers who gave up behind one who stays do not pile up (denoland/std#7086)', async () => {
  const channel = new Channel<number>(0);
  const stays = channel.receive();
  for (let n = 0; n < 1_000; n++) {
    const controller = new AbortController();
    const leaves = channel.receive({ signal: controller.signal });
    controller.abort(gone);
    expect(channel.waitingReceivers).toBe(1);
    await leaves.catch(() => {});
  }
  channel.trySend(1);
  expect(await stays).toBe(1);
});

test('a receiver that is given up loses no value (Effect-TS/effect#716)', async () => {
  const channel = new Channel<number>(1);
  const controller = new AbortController();
  const leaves = channel.receive({ signal: controller.signal });
  controller.abort(gone);
  channel.trySend(1);
  await expect(leaves).rejects.toBe(gone);
  expect(channel.tryReceive()).toEqual({ value: 1 });
});

test('many values at once skip those who were aborted in this very step (zio/zio#10884)', async () => {
  const channel = new Channel<number>(0);
  const controller = new AbortController();
  const { signal } = controller;
  const others: Promise<number>[] = [];
  // This listener runs before that of the receivers, which have not left yet.
  signal.addEventListener('abort', () => void channel.sendAll([1, 2]));
  const leave = [0, 1].map(() => {
    const leaves = channel.receive({ signal });
    others.push(channel.receive());
    return leaves;
  });
  controller.abort(gone);
  for (const each of leave) await expect(each).rejects.toBe(gone);
  expect(await Promise.all(others)).toEqual([1, 2]);
});

test('closing tells senders who wait, and keeps what is buffered (chriskohlhoff/asio#1318, #1236)', async () => {
  const channel = new Channel<number>(100);
  for (let n = 0; n < 100; n++) await channel.send(n);
  const waits = channel.send(100);
  channel.close();
  await expect(waits).rejects.toThrow(ClosedError);
  expect(await channel.receiveMany(Number.POSITIVE_INFINITY)).toHaveLength(100);
});

test('to send to what is closed is an error, no silence (apple/swift-async-algorithms#355)', async () => {
  const channel = new Channel<number>(1);
  channel.close(gone);
  expect(channel.closed).toBe(true);
  await expect(channel.send(1)).rejects.toBe(gone);
});

test('return() settles each next() that waits, which a generator cannot (nodejs/node#41851)', async () => {
  const channel = new Channel<number>(0);
  const iterator = channel[Symbol.asyncIterator]();
  const nexts = [iterator.next(), iterator.next()];
  await iterator.return?.();
  for (const next of nexts) expect((await next).done).toBe(true);
  expect(channel.waitingReceivers).toBe(0);
});

test('a slow loop holds its sources back instead of the values (nodejs/node#15204)', async () => {
  const channel = new Channel<number>(2);
  let made = 0;
  const source = function* () {
    for (;;) yield made++;
  };
  const sent = channel.sendAll(source()).catch((error) => error);
  for await (const value of channel) {
    await nextMacrotask();
    expect(made - value).toBeLessThanOrEqual(4);
    if (value === 20) break;
  }
  channel.abort(gone);
  expect(await sent).toBe(gone);
});
