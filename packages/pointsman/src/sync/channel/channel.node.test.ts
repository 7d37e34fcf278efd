/** Channels, broadcasts and watches leave nothing behind, and keep the async context of whoever waited. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { nextMacrotask } from '@pointsman/spec';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Broadcast, Channel, type WaitOptions, Watch } from '../index.js';

const gone = new Error('gone');

/** Each way to wait, and what ends the wait well. */
const scenes: Record<
  string,
  () => {
    readonly wait: (options?: WaitOptions) => Promise<unknown>;
    readonly serve: () => unknown;
    readonly close: () => void;
  }
> = {
  'Channel.receive'() {
    const channel = new Channel<number>(1);
    return {
      wait: (options) => channel.receive(options),
      serve: () => channel.trySend(1),
      close: () => channel.close(gone),
    };
  },
  'Channel.receiveMany'() {
    const channel = new Channel<number>(1);
    return {
      wait: (options) => channel.receiveMany(3, options),
      serve: () => channel.trySend(1),
      close: () => channel.close(gone),
    };
  },
  'Channel.send'() {
    const channel = new Channel<number>(1);
    channel.trySend(1);
    return {
      wait: (options) => channel.send(1, options),
      serve: () => channel.tryReceive(),
      close: () => channel.close(gone),
    };
  },
  'Channel.sendAll'() {
    const channel = new Channel<number>(0);
    return {
      wait: (options) => channel.sendAll([1], options),
      serve: () => channel.tryReceive(),
      close: () => channel.close(gone),
    };
  },
  'Channel.sendAll of a source that waits'() {
    let next: (result: IteratorResult<number>) => void = () => {};
    let fail: (error: unknown) => void = () => {};
    const waiting: (() => void)[] = [];
    const source = {
      [Symbol.asyncIterator]: () => ({
        next: () =>
          new Promise<IteratorResult<number>>((resolve, reject) => {
            next = resolve;
            fail = reject;
            waiting.push(() => resolve({ value: 1, done: true }));
          }),
      }),
    };
    const channel = new Channel<number>(0);
    return {
      wait: (options) => channel.sendAll(source, options),
      serve: () => {
        next({ value: undefined, done: true });
        waiting.shift()?.();
      },
      close: () => fail(gone),
    };
  },
  'BroadcastReceiver.receive'() {
    const broadcast = new Broadcast<number>(1);
    const receiver = broadcast.subscribe();
    return {
      wait: (options) => receiver.receive(options),
      serve: () => broadcast.send(1),
      close: () => broadcast.close(gone),
    };
  },
  'WatchReceiver.changed'() {
    const watch = new Watch(0);
    const receiver = watch.subscribe();
    return {
      wait: (options) => receiver.changed(options),
      serve: () => watch.send(1),
      close: () => watch.close(gone),
    };
  },
};

const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;
const timers = () =>
  process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;

describe.each(Object.entries(scenes))('%s', (_, create) => {
  test('leaves no listener and no timer, however it ends', async () => {
    const before = timers();
    for (const end of ['served', 'aborted', 'closed', 'timeout', 'refused'] as const) {
      const { wait, serve, close } = create();
      const controller = new AbortController();
      const { signal } = controller;
      const timeout = end === 'timeout' ? 1 : 60_000;
      const waiter = wait({ signal, timeout: end === 'refused' ? -1 : timeout });
      if (end !== 'refused') expect(listeners(signal)).toBe(1);
      if (end === 'served') serve();
      if (end === 'aborted') controller.abort(gone);
      if (end === 'closed') close();
      const outcome = await waiter.then(
        () => 'served',
        (error) => (error === gone ? 'gone' : error.name),
      );
      expect(outcome).toBe(
        {
          served: 'served',
          aborted: 'gone',
          closed: 'gone',
          timeout: 'TimeoutError',
          refused: 'RangeError',
        }[end],
      );
      await nextMacrotask();
      expect(listeners(signal)).toBe(0);
      // The test runner has timers of its own, which may be over meanwhile.
      expect(timers()).toBeLessThanOrEqual(before);
    }
  });

  test.each([[undefined], [{ timeout: 60_000 }]])(
    'keeps the async context: %j',
    async (options) => {
      const storage = new AsyncLocalStorage<number>();
      const { wait, serve } = create();
      const seen: unknown[] = [];
      const contexts = [0, 1, 2].map((n) =>
        storage.run(n, () => wait(options).then(() => seen.push(storage.getStore()))),
      );
      for (const _ of contexts) {
        storage.run(-1, serve);
        await nextMacrotask();
      }
      await Promise.all(contexts);
      expect(seen.sort()).toEqual([0, 1, 2]);
      const other = create();
      const rejected = storage.run(3, () => other.wait(options).catch(() => storage.getStore()));
      storage.run(-1, other.close);
      expect(await rejected).toBe(3);
    },
  );

  test('a storm of aborts leaves nothing, and takes no time that grows with it', async () => {
    const { wait } = create();
    for (let round = 0; round < 2; round++) {
      const controller = new AbortController();
      const { signal } = controller;
      const waits = Array.from({ length: 10_000 }, () => wait({ signal }));
      expect(listeners(signal)).toBe(1);
      controller.abort(gone);
      expect(listeners(signal)).toBe(0);
      const outcomes = await Promise.allSettled(waits);
      expect(outcomes.every((outcome) => outcome.status === 'rejected')).toBe(true);
    }
  });
});

test('iterators keep the async context of whoever asks for the next value', async () => {
  const storage = new AsyncLocalStorage<number>();
  const channel = new Channel<number>(1);
  const seen: unknown[] = [];
  const loops = [0, 1].map((n) =>
    storage.run(n, async () => {
      for await (const _ of channel) seen.push(storage.getStore());
    }),
  );
  await storage.run(-1, () => channel.sendAll([1, 2, 3, 4]));
  channel.close();
  await Promise.all(loops);
  expect(seen).toEqual([0, 1, 0, 1]);
});

describe('rejections that nobody handles are reported once, and no others', () => {
  const event = 'unhandledRejection';
  let reported: unknown[];
  let others: NodeJS.UnhandledRejectionListener[];

  // The test runner's own listener would fail the run.
  beforeEach(() => {
    reported = [];
    others = process.listeners(event);
    process.removeAllListeners(event);
    process.on(event, (reason) => reported.push(reason));
  });

  afterEach(() => {
    process.removeAllListeners(event);
    for (const listener of others) process.on(event, listener);
  });

  test.each(Object.entries(scenes))('%s', async (_, create) => {
    for (const options of [undefined, { timeout: 60_000 }]) {
      const { wait, close } = create();
      void wait(options);
      close();
      await nextMacrotask();
      await nextMacrotask();
    }
    expect(reported).toEqual([gone, gone]);
  });

  test('an iterator that is ended, and a channel that is closed with nobody there', async () => {
    const channel = new Channel<number>(0);
    const iterator = channel[Symbol.asyncIterator]();
    void iterator.next();
    await iterator.return?.();
    channel.close(gone);
    new Broadcast(1).close(gone);
    await nextMacrotask();
    await nextMacrotask();
    expect(reported).toEqual([]);
  });
});

describe('nothing is kept alive', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;

  /** Which of those that were watched in there can be collected, though all else lives on. */
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

  test('by a channel: places of senders who gave up', async () => {
    const channel = new Channel<number>(0);
    const first = channel.send(1);
    const comeAndGo = async (count: number) => {
      for (let n = 0; n < count; n += 1_000) {
        const controller = new AbortController();
        const { signal } = controller;
        const waits = Array.from({ length: 1_000 }, (_, n) => channel.send(n, { signal }));
        controller.abort();
        await Promise.allSettled(waits);
      }
      await nextMacrotask();
      collect();
      return process.memoryUsage().heapUsed;
    };
    await comeAndGo(20_000);
    const before = await comeAndGo(1_000);
    const after = await comeAndGo(100_000);
    expect(after - before).toBeLessThan(800_000);
    expect(channel.waitingSenders).toBe(1);
    channel.tryReceive();
    await first;
  });

  test('by a broadcast: a value that all have received, or that nobody will', async () => {
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

  test('by a broadcast or a watch: a receiver that nobody refers to, also one that has waited', async () => {
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
