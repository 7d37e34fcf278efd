/** Channels, broadcasts and watches keep no value, no receiver and no listener that is not in use. */
import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { nextMacrotask } from '@pointsman/spec';
import { describe, expect, test } from 'vitest';
import { Broadcast, Channel, Watch } from '../index.js';

const gone = new Error('gone');

describe('nothing is kept alive', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;

  /** For each watched object, whether it can be collected while everything else is still in use. */
  async function forgotten(use: (watch: (it: object) => void) => unknown): Promise<boolean[]> {
    const watched: WeakRef<object>[] = [];
    await use((it) => watched.push(new WeakRef(it)));
    for (let n = 0; n < 2; n++) {
      await nextMacrotask();
      collect();
    }
    return watched.map((reference) => reference.deref() === undefined);
  }

  test('by a channel: a value that was received, or given up, or dropped', async () => {
    const channel = new Channel<object>(2);
    const dropping = new Channel<object>(1, { whenFull: 'drop-oldest' });
    const stays = {};
    const results = await forgotten(async (watch) => {
      const values = Array.from({ length: 5 }, () => ({}));
      for (const value of values) watch(value);
      channel.trySend(values[0] as object);
      channel.trySend(stays);
      const controller = new AbortController();
      const sent = channel.send(values[1] as object, { signal: controller.signal });
      channel.tryReceive();
      await sent;
      channel.receive();
      channel.receive();
      channel.trySend(values[2] as object);
      channel.trySend(stays);
      channel.trySend(stays);
      const given = channel.send(values[3] as object, { signal: controller.signal });
      controller.abort();
      await given.catch(() => {});
      dropping.trySend(values[4] as object);
      dropping.trySend(stays);
      await nextMacrotask();
      channel.tryReceive();
    });
    expect(results).toEqual([true, true, true, true, true]);
    expect([channel.length, dropping.length]).toEqual([1, 1]);
  });

  test('by a channel: the room that a peak took', async () => {
    const channel = new Channel<number>(Number.POSITIVE_INFINITY);
    const fill = async (count: number) => {
      for (let n = 0; n < count; n++) channel.trySend(n);
      for (let n = 0; n < count; n++) channel.tryReceive();
      await nextMacrotask();
      collect();
      return process.memoryUsage().heapUsed;
    };
    await fill(10_000);
    const before = await fill(1_000);
    const after = await fill(1_000_000);
    expect(after - before).toBeLessThan(800_000);
  });

  test('by a broadcast: a value that all have received, or that has no receiver left', async () => {
    const broadcast = new Broadcast<object>(4);
    const receivers = [broadcast.subscribe(), broadcast.subscribe()];
    const results = await forgotten((watch) => {
      for (let n = 0; n < 2; n++) {
        const value = {};
        broadcast.send(value);
        watch(value);
      }
      // One value is received by all, the other only by one.
      receivers[0]?.tryReceive();
      receivers[1]?.tryReceive();
      receivers[0]?.tryReceive();
    });
    expect(results).toEqual([true, false]);
    const left = await forgotten((watch) => {
      const value = {};
      broadcast.send(value);
      watch(value);
      for (const receiver of receivers) receiver.close();
      const lost = {};
      broadcast.send(lost);
      watch(lost);
    });
    expect(left).toEqual([true, true]);
    expect(broadcast.receivers).toBe(0);
  });

  test('by a slow receiver of a broadcast: more than its capacity', async () => {
    const broadcast = new Broadcast<object>(2);
    const slow = broadcast.subscribe();
    const results = await forgotten((watch) => {
      for (let n = 0; n < 5; n++) {
        const value = {};
        broadcast.send(value);
        watch(value);
      }
    });
    expect(results).toEqual([true, true, true, false, false]);
    expect(slow.length).toBe(2);
  });

  test('by a broadcast or a watch: a receiver without references, also one that has waited', async () => {
    const broadcast = new Broadcast<object>(2);
    const watch = new Watch(0);
    const results = await forgotten(async (look) => {
      const lost = broadcast.subscribe();
      const waited = broadcast.subscribe();
      const controller = new AbortController();
      const { signal } = controller;
      const changes = watch.subscribe();
      const waits = [waited.receive({ signal }), changes.changed({ signal })];
      const refused = [waited.receive({ timeout: 0 }), changes.changed({ timeout: 0 })];
      controller.abort();
      await Promise.allSettled([...waits, ...refused]);
      const iterator = waited[Symbol.asyncIterator]();
      void iterator.next();
      await iterator.return?.();
      const served = watch.subscribe();
      const change = served.changed();
      watch.send(1);
      await change;
      for (const each of [lost, waited, changes, served]) look(each);
    });
    expect(results).toEqual([true, true, true, true]);
    // It still counts, and makes the broadcast keep what it may, and no more.
    const values = await forgotten((look) => {
      for (let n = 0; n < 5; n++) {
        const value = {};
        broadcast.send(value);
        look(value);
      }
    });
    expect(values).toEqual([true, true, true, false, false]);
  });

  test('by a watch: the values before the latest', async () => {
    const watch = new Watch<object>({});
    const receiver = watch.subscribe();
    const results = await forgotten((look) => {
      for (let n = 0; n < 2; n++) {
        const value = {};
        watch.send(value);
        look(value);
      }
    });
    expect(results).toEqual([true, false]);
    expect(receiver.hasChanged).toBe(true);
  });
});

test('a source that cannot be started leaves nothing', async () => {
  const { signal } = new AbortController();
  const source = {
    [Symbol.iterator]() {
      throw gone;
    },
  };
  const sent = new Channel<number>(1).sendAll(source, { signal, timeout: 60_000 });
  await expect(sent).rejects.toBe(gone);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});
