/** What a channel promises, one promise at a time. */
import { nextMacrotask } from '@pointsman/spec';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Channel, ClosedError, QueueFullError, TimeoutError } from '../index.js';
import * as giveUp from '../wait/give-up.js';

/** Internals of `select`, to run its steps one at a time. */
const { OwnSignal, callAll } = giveUp as unknown as {
  OwnSignal: new (
    contest: Contest,
  ) => AbortSignal & { set: Set<unknown>; abort(reason: unknown): void };
  callAll(waiters: Set<unknown>, reason: unknown): void;
};

interface Contest {
  isLost(signal: AbortSignal): boolean;
  readonly root: unknown;
  decide(winner: unknown): (() => void) | undefined;
}

afterEach(() => {
  vi.useRealTimers();
});

const gone = new Error('gone');

/** What has become of it by the end of this turn. */
async function stateOf(promise: Promise<unknown>): Promise<unknown> {
  let state: unknown = 'pending';
  promise.then(
    (value) => {
      state = { value };
    },
    (error) => {
      state = { error };
    },
  );
  await nextMacrotask();
  return state;
}

const capacities = [0, 1, 3, Number.POSITIVE_INFINITY];

describe.each(capacities)('a channel of capacity %d', (capacity) => {
  test('passes values on in their order, each to one receiver', async () => {
    const channel = new Channel<number>(capacity);
    const sent = Array.from({ length: 20 }, (_, n) => channel.send(n));
    const received = Array.from({ length: 20 }, () => channel.receive());
    expect(await Promise.all(received)).toEqual(Array.from({ length: 20 }, (_, n) => n));
    await Promise.all(sent);
    expect([channel.length, channel.waitingSenders, channel.waitingReceivers]).toEqual([0, 0, 0]);
  });

  test('serves waiting receivers in the order of arrival', async () => {
    const channel = new Channel<number>(capacity);
    const order: string[] = [];
    for (const n of [0, 1, 2, 3]) {
      void channel.receive(n % 2 ? { timeout: 1_000 } : undefined).then((value) => {
        order.push(`${n} got ${value}`);
      });
    }
    expect(channel.waitingReceivers).toBe(4);
    for (const n of [0, 1, 2, 3]) expect(channel.trySend(n)).toBe(true);
    expect([channel.waitingReceivers, channel.length]).toEqual([0, 0]);
    await nextMacrotask();
    expect(order).toEqual(['0 got 0', '1 got 1', '2 got 2', '3 got 3']);
  });

  test('buffers as many as that, and then senders wait', async () => {
    const channel = new Channel<number>(capacity);
    const some = Math.min(capacity, 5);
    for (let n = 0; n < some; n++) expect(channel.trySend(n)).toBe(true);
    expect(channel.length).toBe(some);
    expect(channel.trySend(some)).toBe(capacity > 5);
    if (capacity > 5) return;
    const sender = channel.send(some);
    expect([channel.length, channel.waitingSenders]).toEqual([capacity, 1]);
    expect(await stateOf(sender)).toBe('pending');
    expect(channel.tryReceive()).toEqual({ value: 0 });
    await sender;
    expect([channel.length, channel.waitingSenders]).toEqual([capacity, 0]);
  });

  test('a sender that gives up takes its value along, and the others keep their places', async () => {
    const channel = new Channel<unknown>(capacity);
    const waits = Number.isFinite(capacity);
    const controller = new AbortController();
    const filler = Array.from({ length: waits ? capacity : 0 }, (_, n) => channel.send(n));
    const first = channel.send('first');
    const leaves = waits ? channel.send('leaves', { signal: controller.signal }) : undefined;
    const nothing = channel.send(undefined, { timeout: 60_000 });
    const last = channel.send('last');
    controller.abort(gone);
    expect(channel.waitingSenders).toBe(waits ? 3 : 0);
    await leaves?.catch((error) => expect(error).toBe(gone));
    const all = await channel.receiveMany(Number.POSITIVE_INFINITY);
    expect(all.slice(filler.length)).toEqual(['first', undefined, 'last']);
    await Promise.all([...filler, first, nothing, last]);
  });

  test('a receiver that gives up loses no value', async () => {
    const channel = new Channel<string>(capacity);
    const controller = new AbortController();
    const leaves = channel.receive({ signal: controller.signal });
    const stays = channel.receive();
    controller.abort(gone);
    await expect(leaves).rejects.toBe(gone);
    await channel.send('value');
    expect(await stays).toBe('value');
  });

  test('an abort after the value was taken has no effect, before it has', async () => {
    const channel = new Channel<string>(capacity);
    const after = new AbortController();
    const received = channel.receive({ signal: after.signal });
    channel.trySend('value');
    after.abort(gone);
    expect(await received).toBe('value');

    const late = channel.receive({ timeout: 60_000 });
    const sender = channel.send('sent', { signal: new AbortController().signal });
    expect(await late).toBe('sent');
    await sender;

    if (!Number.isFinite(capacity)) return;
    const controller = new AbortController();
    const filler = Array.from({ length: capacity }, () => channel.send('filler'));
    const taken = channel.send('taken', { signal: controller.signal });
    for (const _ of filler) expect(channel.tryReceive()).toEqual({ value: 'filler' });
    expect(channel.tryReceive()).toEqual({ value: 'taken' });
    controller.abort(gone);
    await taken;
  });

  test('a time that is over is a TimeoutError', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const channel = new Channel<string>(capacity, { name: 'jobs' });
    const receiver = channel.receive({ timeout: 10 });
    vi.advanceTimersByTime(10);
    await expect(receiver).rejects.toThrow('jobs: timed out after 10 ms');
    await expect(channel.receive({ timeout: 0 })).rejects.toThrow(TimeoutError);
    expect(channel.waitingReceivers).toBe(0);
    if (!Number.isFinite(capacity)) return;
    for (let n = 0; n < capacity; n++) channel.trySend('filler');
    const sender = channel.send('late', { timeout: 10 });
    const refused = channel.send('refused', { timeout: 0 });
    vi.advanceTimersByTime(10);
    await expect(sender).rejects.toThrow(TimeoutError);
    await expect(refused).rejects.toThrow(TimeoutError);
    expect([channel.waitingSenders, channel.length]).toEqual([0, capacity]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('closed: buffered values arrive, waiting senders are rejected, then receivers', async () => {
    const channel = new Channel<number>(capacity, { name: 'jobs' });
    const some = Math.min(capacity, 3);
    for (let n = 0; n < some; n++) channel.trySend(n);
    const senders = Number.isFinite(capacity)
      ? [channel.send(97), channel.send(98, { timeout: 60_000 }), channel.send(99)]
      : [];
    channel.close();
    channel.close(gone);
    expect(channel.closed).toBe(true);
    for (const sender of senders) await expect(sender).rejects.toThrow(ClosedError);
    expect(channel.length).toBe(some);
    await expect(channel.send(5)).rejects.toThrow('jobs: the primitive is closed');
    expect(() => channel.trySend(5)).toThrow(ClosedError);
    for (let n = 0; n < some; n++) expect(await channel.receive({})).toBe(n);
    await expect(channel.receive()).rejects.toThrow(ClosedError);
    await expect(channel.receive({ timeout: 0 })).rejects.toThrow(ClosedError);
    await expect(channel.receiveMany(3)).rejects.toThrow(ClosedError);
    expect(() => channel.tryReceive()).toThrow(ClosedError);
    for await (const _ of channel) expect.unreachable();
  });

  test('closed with a reason: waiters are rejected with it, and iterators throw it', async () => {
    const channel = new Channel<number>(capacity);
    const iterator = channel[Symbol.asyncIterator]();
    const waits = [
      channel.receive(),
      channel.receive({ timeout: 60_000 }),
      channel.receiveMany(2),
      iterator.next(),
      iterator.next(),
    ];
    channel.close(gone);
    for (const wait of waits) await expect(wait).rejects.toBe(gone);
    await expect(iterator.next()).rejects.toBe(gone);
    expect(await iterator.return?.()).toEqual({ value: undefined, done: true });
    expect(await iterator.next()).toEqual({ value: undefined, done: true });
  });

  test('aborted: what is buffered is discarded', async () => {
    const channel = new Channel<number>(capacity);
    for (let n = 0; n < Math.min(capacity, 3); n++) channel.trySend(n);
    const sender = Number.isFinite(capacity) ? channel.send(9) : Promise.reject(gone);
    channel.abort(gone);
    await expect(sender).rejects.toBe(gone);
    expect([channel.length, channel.waitingSenders, channel.closed]).toEqual([0, 0, true]);
    await expect(channel.receive()).rejects.toBe(gone);
    await expect(channel[Symbol.asyncIterator]().next()).rejects.toBe(gone);
  });

  test('iterators: each value goes to one, in the order of their waits', async () => {
    const channel = new Channel<number>(capacity);
    const seen: string[] = [];
    const iterate = async (name: string) => {
      for await (const value of channel) seen.push(`${name}${value}`);
      seen.push(`${name} ends`);
    };
    const all = [iterate('a'), iterate('b')];
    await channel.sendAll([1, 2, 3, 4]);
    channel.close();
    await Promise.all(all);
    expect(seen.filter((entry) => !entry.includes('ends')).map((entry) => entry.slice(1))).toEqual([
      '1',
      '2',
      '3',
      '4',
    ]);
    expect(seen).toHaveLength(6);
  });

  test('an iterator that is ended while it waits loses no value', async () => {
    const channel = new Channel<number>(capacity);
    const iterator = channel[Symbol.asyncIterator]();
    const other = channel[Symbol.asyncIterator]();
    const waits = [iterator.next(), iterator.next()];
    const stays = other.next();
    expect(channel.waitingReceivers).toBe(3);
    expect(await iterator.return?.()).toEqual({ value: undefined, done: true });
    expect(channel.waitingReceivers).toBe(1);
    for (const wait of waits) expect(await wait).toEqual({ value: undefined, done: true });
    channel.trySend(1);
    expect(await stays).toEqual({ value: 1, done: false });
    expect(await iterator.next()).toEqual({ value: undefined, done: true });
  });

  test('to leave a loop closes nothing', async () => {
    const channel = new Channel<number>(capacity);
    const sent = channel.sendAll([1, 2, 3]);
    for await (const value of channel) {
      expect(value).toBe(1);
      break;
    }
    expect(channel.closed).toBe(false);
    expect(await channel.receive()).toBe(2);
    expect(await channel.receive()).toBe(3);
    await sent;
  });

  test('undefined and null are values', async () => {
    const channel = new Channel<unknown>(capacity);
    const sent = [channel.send(undefined), channel.send(null), channel.send(undefined, {})];
    expect(channel.tryReceive()).toEqual({ value: undefined });
    expect(await channel.receive()).toBe(null);
    expect(await channel[Symbol.asyncIterator]().next()).toEqual({ value: undefined, done: false });
    expect(channel.tryReceive()).toBe(undefined);
    await Promise.all(sent);
  });

  test('a promise is a value: an answer that is awaited is what it resolves with', async () => {
    const channel = new Channel<Promise<number>>(capacity);
    const promises = [1, 2, 3, 4, 5].map((n) => Promise.resolve(n));
    const sent = promises.map((promise) => channel.send(promise));
    expect(await channel.receive()).toBe(1);
    expect(channel.tryReceive()?.value).toBe(promises[1]);
    expect((await channel.receiveMany(1))[0]).toBe(promises[2]);
    const iterator = channel[Symbol.asyncIterator]();
    expect((await iterator.next()).value).toBe(promises[3]);
    expect(await channel.receive({})).toBe(5);
    await Promise.all(sent);
    const waits = [iterator.next(), channel.receiveMany(1), channel.receive()] as const;
    for (const promise of promises.slice(0, 3)) channel.trySend(promise);
    expect((await waits[0]).value).toBe(promises[0]);
    expect((await waits[1])[0]).toBe(promises[1]);
    expect(await waits[2]).toBe(3);
  });

  test('receiveMany takes the buffered values, and serves waiting senders', async () => {
    const channel = new Channel<number>(capacity);
    const sent = [1, 2, 3, 4, 5, 6].map((n) => channel.send(n));
    expect(await channel.receiveMany(2)).toEqual([1, 2]);
    expect(await channel.receiveMany(Number.POSITIVE_INFINITY, {})).toEqual([3, 4, 5, 6]);
    await Promise.all(sent);
    const many = channel.receiveMany(2);
    const more = [7, 8, 9].map((n) => channel.send(n));
    expect(await many).toEqual([7, 8]);
    expect(await channel.receiveMany(9)).toEqual([9]);
    await Promise.all(more);
    const controller = new AbortController();
    const leaves = channel.receiveMany(2, { signal: controller.signal });
    controller.abort(gone);
    await expect(leaves).rejects.toBe(gone);
    expect(channel.waitingReceivers).toBe(0);
  });
});

describe('sendAll', () => {
  /** A source that says what becomes of it. */
  function source(count: number) {
    const log: string[] = [];
    return {
      log,
      *each() {
        try {
          for (let n = 0; n < count; n++) {
            log.push(`made ${n}`);
            yield n;
          }
        } finally {
          log.push('ended');
        }
      },
      async *eachAsync() {
        yield* this.each();
      },
    };
  }

  test.each(['each', 'eachAsync'] as const)(
    'makes the next value when there is room: %s',
    async (kind) => {
      const channel = new Channel<number>(1);
      const numbers = source(4);
      const sent = channel.sendAll(numbers[kind]());
      await nextMacrotask();
      expect(numbers.log).toEqual(['made 0', 'made 1']);
      expect(await channel.receive()).toBe(0);
      await nextMacrotask();
      expect(numbers.log).toEqual(['made 0', 'made 1', 'made 2']);
      for (const n of [1, 2, 3]) expect(await channel.receive()).toBe(n);
      await sent;
      expect(numbers.log.at(-1)).toBe('ended');
      expect(channel.closed).toBe(false);
    },
  );

  test.each(['each', 'eachAsync'] as const)('ends the source when it fails: %s', async (kind) => {
    const fail: [string, (channel: Channel<number>, controller: AbortController) => void][] = [
      ['closed', (channel) => channel.close(gone)],
      ['aborted', (_, controller) => controller.abort(gone)],
    ];
    for (const [, end] of fail) {
      const channel = new Channel<number>(0);
      const controller = new AbortController();
      const numbers = source(4);
      const sent = channel.sendAll(numbers[kind](), { signal: controller.signal, timeout: 60_000 });
      expect(await channel.receive()).toBe(0);
      await nextMacrotask();
      end(channel, controller);
      await expect(sent).rejects.toBe(gone);
      expect(numbers.log).toEqual(['made 0', 'made 1', 'ended']);
      expect(channel.waitingSenders).toBe(0);
    }
  });

  test('fails with what the source throws', async () => {
    const channel = new Channel<number>(9);
    const failing = (function* () {
      yield 1;
      throw gone;
    })();
    await expect(channel.sendAll(failing)).rejects.toBe(gone);
    expect(channel.length).toBe(1);
  });

  test('does not wait for a source that never answers', async () => {
    const channel = new Channel<number>(9);
    const controller = new AbortController();
    let ended = 0;
    const silent = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise<never>(() => {}),
        return() {
          ended++;
          return new Promise<never>(() => {});
        },
      }),
    };
    const sent = channel.sendAll(silent, { signal: controller.signal });
    controller.abort(gone);
    await expect(sent).rejects.toBe(gone);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const late = channel.sendAll(silent, { timeout: 10 });
    vi.advanceTimersByTime(10);
    await expect(late).rejects.toThrow('timed out after 10 ms');
    expect(vi.getTimerCount()).toBe(0);
    expect(ended).toBe(2);
  });

  test('one timeout is for the whole', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const channel = new Channel<number>(0);
    const sent = channel.sendAll([1, 2, 3], { timeout: 10 });
    vi.advanceTimersByTime(6);
    expect(await channel.receive()).toBe(1);
    await Promise.resolve();
    vi.advanceTimersByTime(6);
    await expect(sent).rejects.toThrow('timed out after 10 ms');
    expect([channel.waitingSenders, vi.getTimerCount()]).toEqual([0, 0]);
    await expect(channel.sendAll([1], { timeout: 0 })).rejects.toThrow(TimeoutError);
  });

  test('without time to wait also ends where the source stays silent', async () => {
    const channel = new Channel<number>(10);
    const silent = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
    await expect(channel.sendAll(silent, { timeout: 0 })).rejects.toThrow(TimeoutError);
  });

  test('sends nothing after the abort, although there is room', async () => {
    const channel = new Channel<number>(10);
    const controller = new AbortController();
    function* numbers() {
      yield 1;
      controller.abort(gone);
      yield 2;
    }
    const { signal } = controller;
    await expect(channel.sendAll(numbers(), { signal })).rejects.toBe(gone);
    expect(channel.length).toBe(1);
  });
});

describe('whenFull', () => {
  test('drop-oldest keeps the newest', async () => {
    const channel = new Channel<number>(2, { whenFull: 'drop-oldest' });
    for (const n of [1, 2, 3]) await channel.send(n);
    expect(channel.trySend(4)).toBe(true);
    await channel.send(5, {});
    expect(await channel.receiveMany(9)).toEqual([4, 5]);
    const receiver = channel.receive();
    channel.trySend(6);
    channel.trySend(7);
    expect([await receiver, channel.length]).toEqual([6, 1]);
  });

  test('reject refuses the newest', async () => {
    const channel = new Channel<number>(1, { name: 'jobs', whenFull: 'reject' });
    await channel.send(1);
    await expect(channel.send(2)).rejects.toThrow(QueueFullError);
    await expect(channel.send(2, { timeout: 60_000 })).rejects.toThrow(
      'jobs: the queue is full: 0 waiting',
    );
    expect(channel.trySend(2)).toBe(false);
    await expect(channel.sendAll([2, 3])).rejects.toThrow(QueueFullError);
    expect(await channel.receiveMany(9)).toEqual([1]);
  });
});

test('abort after close discards what was left, and says so', async () => {
  const channel = new Channel<number>(3);
  channel.trySend(1);
  channel.close();
  channel.abort(gone);
  await expect(channel.receive()).rejects.toBe(gone);
  const empty = new Channel<number>(3);
  empty.close();
  empty.abort(gone);
  await expect(empty.receive()).rejects.toThrow(ClosedError);
  const lost = new Channel<number>(3);
  lost.abort();
  await expect(lost[Symbol.asyncIterator]().next()).rejects.toThrow('cancelled');
});

test('using closes it', async () => {
  const channel = new Channel<number>(0);
  const receiver = channel.receive();
  {
    using open = channel;
    expect(open.closed).toBe(false);
  }
  await expect(receiver).rejects.toThrow(ClosedError);
});

describe('cases of a select', () => {
  /** What `select` does with the signals of its cases: the first grant wins, the others leave. */
  function cases(count: number) {
    let winner: unknown;
    const dismiss = () => {
      for (const signal of signals) if (signal !== winner) signal.abort(gone);
      for (const signal of signals) if (signal !== winner) callAll(signal.set, gone);
    };
    const contest: Contest = {
      root: dismiss,
      isLost: (signal) => winner !== undefined && winner !== signal,
      decide(by) {
        if (winner !== undefined) return undefined;
        winner = by;
        return dismiss;
      },
    };
    const signals = Array.from({ length: count }, () => new OwnSignal(contest));
    return {
      get won() {
        return signals.flatMap((signal, index) => (signal === winner ? [index] : []));
      },
      signals: signals as AbortSignal[],
      /** Another case has won, and no case has learned it yet. */
      lose: () => contest.decide(null),
    };
  }

  test.each(capacities)('do not meet each other, capacity %d', async (capacity) => {
    const channel = new Channel<string>(capacity);
    for (let n = 0; n < capacity && n < 5; n++) channel.trySend('buffered');
    const select = cases(3);
    const { signals } = select;
    const all = [
      channel.receive({ signal: signals[0] as AbortSignal }).catch(() => 'lost'),
      channel.send('own', { signal: signals[1] as AbortSignal }).catch(() => 'lost'),
      channel.receive({ signal: signals[2] as AbortSignal }).catch(() => 'lost'),
    ];
    if (capacity > 0) {
      expect(select.won).toEqual([0]);
      expect(await all[0]).toBe('buffered');
    } else {
      expect(select.won).toEqual([]);
      expect([channel.waitingReceivers, channel.waitingSenders]).toEqual([2, 1]);
      await channel.send('from outside');
      expect(select.won).toEqual([0]);
      expect(await all[0]).toBe('from outside');
    }
    expect([channel.waitingReceivers, channel.waitingSenders]).toEqual([0, 0]);
    expect(await all[2]).toBe('lost');
  });

  test('a receiver from outside takes the value', async () => {
    const channel = new Channel<string>(0);
    const select = cases(2);
    const { signals } = select;
    const sent = channel.send('own', { signal: signals[0] as AbortSignal });
    const received = channel.receive({ signal: signals[1] as AbortSignal }).catch(() => 'lost');
    expect(await channel.receive()).toBe('own');
    await sent;
    expect([select.won, await received]).toEqual([[0], 'lost']);
    expect([channel.waitingReceivers, channel.waitingSenders]).toEqual([0, 0]);
  });

  test('do not strand the waiters behind them', async () => {
    const channel = new Channel<string>(0);
    const select = cases(3);
    const { signals } = select;
    const sends = [0, 1].map((n) =>
      channel.send(`own ${n}`, { signal: signals[n] as AbortSignal }).catch(() => 'lost'),
    );
    const other = channel.send('other');
    const received = channel.receive({ signal: signals[2] as AbortSignal });
    expect(await received).toBe('other');
    await other;
    expect(await Promise.all(sends)).toEqual(['lost', 'lost']);
    expect([select.won, channel.waitingSenders]).toEqual([[2], 0]);
  });

  test('a select that sends and one that receives win together', async () => {
    for (const sendsFirst of [true, false]) {
      const channel = new Channel<string>(0);
      const back = new Channel<string>(0);
      const one = cases(2);
      const other = cases(2);
      // A case that leaves `back` admits no case of a select that has won already.
      const start = [
        () => {
          void channel.send('value', { signal: one.signals[0] as AbortSignal }).catch(() => {});
          void back.receive({ signal: one.signals[1] as AbortSignal }).catch(() => {});
        },
        () => {
          void channel.receive({ signal: other.signals[0] as AbortSignal }).catch(() => {});
          void back.send('back', { signal: other.signals[1] as AbortSignal }).catch(() => {});
        },
      ];
      for (const begin of sendsFirst ? start : start.reverse()) begin();
      await nextMacrotask();
      expect(one.won.length + other.won.length).toBeGreaterThanOrEqual(2);
      expect(new Set([...one.won, ...other.won]).size).toBe(1);
      for (const each of [channel, back]) {
        expect([each.length, each.waitingReceivers, each.waitingSenders]).toEqual([0, 0, 0]);
      }
    }
  });

  test('one that has lost, and does not know yet, is granted nothing', async () => {
    for (const capacity of [0, 1]) {
      const channel = new Channel<string>(capacity);
      const one = cases(1);
      const [signal] = one.signals as [AbortSignal];
      if (capacity > 0) channel.trySend('buffered');
      const lost = channel.send('lost', { signal }).catch(() => 'gone');
      const next = channel.send('next');
      one.lose();
      expect(channel.tryReceive()).toEqual({ value: capacity > 0 ? 'buffered' : 'next' });
      if (capacity > 0) expect(channel.tryReceive()).toEqual({ value: 'next' });
      await next;
      expect([await lost, channel.length, channel.waitingSenders]).toEqual(['gone', 0, 0]);

      const two = cases(1);
      const [other] = two.signals as [AbortSignal];
      const receiver = channel.receive({ signal: other }).catch(() => 'gone');
      const second = channel.receive();
      two.lose();
      expect(channel.trySend('value')).toBe(true);
      expect([await receiver, await second]).toEqual(['gone', 'value']);
    }
  });
});

describe('bad input', () => {
  test('of the constructor', () => {
    expect(() => new Channel(0, { whenFull: 'drop-oldest' })).toThrow(RangeError);
  });

  test('of operations rejects, before any effect', async () => {
    const channel = new Channel<number>(1);
    channel.trySend(1);
    await expect(channel.receiveMany(0)).rejects.toThrow(
      'max must be an integer >= 1 or Infinity, got 0',
    );
    await expect(channel.sendAll(5 as never)).rejects.toThrow(
      'source must be an iterable or async iterable, got 5',
    );
    expect([channel.length, channel.waitingSenders]).toEqual([1, 0]);
  });
});

test('sendAll passes over receivers whose signal aborts in the same step', async () => {
  const channel = new Channel<number>(0);
  const controller = new AbortController();
  const { signal } = controller;
  const others: Promise<number>[] = [];
  // This listener runs before that of the receivers, which are still enqueued.
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

test('return of an iterator ends each next that waits', async () => {
  const channel = new Channel<number>(0);
  const iterator = channel[Symbol.asyncIterator]();
  const nexts = [iterator.next(), iterator.next()];
  await iterator.return?.();
  for (const next of nexts) expect((await next).done).toBe(true);
  expect(channel.waitingReceivers).toBe(0);
});

test('a slow loop holds back the source of sendAll', async () => {
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
