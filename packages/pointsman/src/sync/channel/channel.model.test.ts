/**
 * Random programs, compared call by call with a plain model of a channel: the grants and their order, the buffered
 * values, the waiters. In one event loop each call takes effect in the step in which it is made, so a model that makes
 * the same calls in the same order is all that linearizability asks for.
 */
import { nextMacrotask } from '@pointsman/spec';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Channel, type ChannelOptions, type WaitOptions } from '../index.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

type Policy = NonNullable<ChannelOptions['whenFull']>;
type Answer = string;

/** A waiter of the model. */
interface Wait {
  readonly id: number;
  readonly kind: 'send' | 'receive' | 'next' | 'many';
  readonly value: number;
  readonly max: number;
  readonly controller: AbortController | undefined;
  readonly iterator: AsyncIterator<number> | undefined;
  readonly until: number;
}

/** All that a channel should do, with arrays. */
class Model {
  buffer: number[] = [];
  senders: Wait[] = [];
  receivers: Wait[] = [];
  reason: string | undefined;
  readonly told = new Map<number, Answer>();
  /** Who was granted something, in this order. */
  readonly order: number[] = [];

  constructor(
    readonly capacity: number,
    readonly policy: Policy,
  ) {}

  grant(id: number, answer: Answer): void {
    this.told.set(id, answer);
    this.order.push(id);
  }

  /** True if it is sent, false if there is no room. */
  put(value: number): boolean {
    const receiver = this.receivers.shift();
    if (receiver !== undefined) {
      if (receiver.kind === 'many') this.told.set(receiver.id, `${value}`);
      else this.grant(receiver.id, `${value}`);
      return true;
    }
    if (this.buffer.length >= this.capacity) {
      if (this.policy !== 'drop-oldest') return false;
      this.buffer.shift();
    }
    this.buffer.push(value);
    return true;
  }

  take(): number | undefined {
    const sender = this.senders[0];
    if (this.buffer.length > 0) {
      const value = this.buffer.shift();
      if (sender !== undefined) {
        this.senders.shift();
        this.buffer.push(sender.value);
        this.grant(sender.id, 'sent');
      }
      return value;
    }
    if (sender === undefined) return undefined;
    this.senders.shift();
    this.grant(sender.id, 'sent');
    return sender.value;
  }

  end(reason: string, discard: boolean): void {
    if (this.reason !== undefined && !(discard && this.buffer.length > 0)) return;
    this.reason = reason;
    if (discard) this.buffer = [];
    for (const { id } of this.senders) this.told.set(id, reason);
    for (const { id, kind } of this.receivers) {
      this.told.set(id, kind === 'next' && reason === 'ClosedError' ? 'done' : reason);
    }
    this.senders = [];
    this.receivers = [];
  }

  leave(wait: Wait, answer: Answer): void {
    this.senders = this.senders.filter((other) => other !== wait);
    this.receivers = this.receivers.filter((other) => other !== wait);
    this.told.set(wait.id, answer);
  }
}

/** A channel and its model, on which every call is made together. */
class Pair {
  readonly model: Model;
  readonly channel: Channel<number>;
  readonly #told = new Map<number, Answer>();
  readonly #order: number[] = [];
  #count = 0;
  #value = 0;
  #now = 0;

  constructor(capacity: number, policy: Policy) {
    this.model = new Model(capacity, policy);
    this.channel = new Channel<number>(capacity, { whenFull: policy });
  }

  #watch(id: number, kind: Wait['kind'], promise: Promise<unknown>): Promise<void> {
    return promise.then(
      (value) => {
        let answer = `${value}`;
        if (kind === 'send') answer = 'sent';
        if (kind === 'next') {
          const result = value as IteratorResult<number>;
          answer = result.done ? 'done' : `${result.value}`;
        }
        this.#told.set(id, answer);
        if (kind !== 'many' && answer !== 'done') this.#order.push(id);
      },
      (error) => {
        this.#told.set(id, error === 'reason' ? 'reason' : error.name);
      },
    );
  }

  ask(
    kind: Wait['kind'],
    how: 'plain' | 'signal' | 'timeout' | 'both',
    timeout: number,
    max: number,
  ) {
    const { channel, model } = this;
    const id = this.#count++;
    const value = this.#value++;
    const limits = kind === 'next' ? 'plain' : how;
    const controller = limits === 'signal' || limits === 'both' ? new AbortController() : undefined;
    const until =
      limits === 'timeout' || limits === 'both' ? this.#now + timeout : Number.POSITIVE_INFINITY;
    const options: WaitOptions[] = [];
    if (limits !== 'plain') {
      options.push({
        ...(controller && { signal: controller.signal }),
        ...(until < Number.POSITIVE_INFINITY && { timeout }),
      });
    }
    const iterator = kind === 'next' ? channel[Symbol.asyncIterator]() : undefined;
    const wait: Wait = { id, kind, value, max, controller, iterator, until };
    // The model first: what it says must not depend on what the channel did.
    if (kind === 'send') {
      if (model.reason !== undefined) model.told.set(id, model.reason);
      else if (model.put(value)) model.grant(id, 'sent');
      else if (until === this.#now) model.told.set(id, 'TimeoutError');
      else if (model.policy === 'reject') model.told.set(id, 'QueueFullError');
      else model.senders.push(wait);
    } else {
      const first = model.take();
      if (first !== undefined && kind === 'many') {
        const all = [first];
        for (let next: number | undefined; all.length < max; all.push(next)) {
          next = model.take();
          if (next === undefined) break;
        }
        model.told.set(id, `${all}`);
      } else if (first !== undefined) {
        model.grant(id, `${first}`);
      } else if (model.reason !== undefined) {
        model.told.set(
          id,
          kind === 'next' && model.reason === 'ClosedError' ? 'done' : model.reason,
        );
      } else if (until === this.#now) {
        model.told.set(id, 'TimeoutError');
      } else {
        model.receivers.push(wait);
      }
    }
    const start = {
      send: () => channel.send(value, ...options),
      receive: () => channel.receive(...options),
      // A waiting one takes more when it goes on: the model has no such moment, so it asks for one value.
      many: () => channel.receiveMany(model.receivers.includes(wait) ? 1 : max, ...options),
      next: () => (iterator as AsyncIterator<number>).next(),
    }[kind];
    const settled = this.#watch(id, kind, start());
    this.#check();
    return { settled, wait };
  }

  trySend(): void {
    const value = this.#value++;
    if (this.model.reason !== undefined) expect(() => this.channel.trySend(value)).toThrow();
    else expect(this.channel.trySend(value)).toBe(this.model.put(value));
    this.#check();
  }

  tryReceive(): void {
    const value = this.model.take();
    if (value === undefined && this.model.reason !== undefined) {
      expect(() => this.channel.tryReceive()).toThrow();
    } else {
      expect(this.channel.tryReceive()).toEqual(value === undefined ? undefined : { value });
    }
    this.#check();
  }

  /** Ends a wait: by its signal, or by the end of its iterator. */
  leave(wait: Wait | undefined): void {
    if (wait === undefined || ![...this.model.senders, ...this.model.receivers].includes(wait)) {
      wait?.controller?.abort();
    } else if (wait.controller !== undefined) {
      this.model.leave(wait, 'AbortError');
      wait.controller.abort();
    } else if (wait.iterator !== undefined) {
      this.model.leave(wait, 'done');
      void wait.iterator.return?.();
    }
    this.#check();
  }

  advance(milliseconds: number): void {
    this.#now += milliseconds;
    for (const wait of [...this.model.senders, ...this.model.receivers]) {
      if (wait.until <= this.#now) this.model.leave(wait, 'TimeoutError');
    }
    vi.advanceTimersByTime(milliseconds);
    this.#check();
  }

  end(how: 'close' | 'close with reason' | 'abort'): void {
    this.model.end(how === 'close' ? 'ClosedError' : 'reason', how === 'abort');
    if (how === 'close') this.channel.close();
    else if (how === 'abort') this.channel.abort('reason');
    else this.channel.close('reason');
    this.#check();
  }

  pick(n: number): Wait | undefined {
    const all = [...this.model.senders, ...this.model.receivers];
    return all[n % all.length];
  }

  async finish(): Promise<void> {
    this.end('abort');
    await nextMacrotask();
    expect(vi.getTimerCount()).toBe(0);
    expect(new Map([...this.#told].sort(([one], [other]) => one - other))).toEqual(
      new Map([...this.model.told].sort(([one], [other]) => one - other)),
    );
    // Each grant settles its promise one microtask later, so the promises settle in the order of the grants.
    const order = this.model.order.filter((id) => this.#order.includes(id));
    expect(this.#order).toEqual(order);
  }

  #check(): void {
    const { length, waitingSenders, waitingReceivers, closed } = this.channel;
    expect({ length, waitingSenders, waitingReceivers, closed }).toEqual({
      length: this.model.buffer.length,
      waitingSenders: this.model.senders.length,
      waitingReceivers: this.model.receivers.length,
      closed: this.model.reason !== undefined,
    });
  }
}

const channels = fc
  .record({
    capacity: fc.constantFrom(0, 1, 3, Number.POSITIVE_INFINITY),
    policy: fc.constantFrom<Policy>('wait', 'wait', 'drop-oldest', 'reject'),
  })
  .filter(({ capacity, policy }) => capacity > 0 || policy !== 'drop-oldest');

const asking = fc.record({
  kind: fc.constantFrom('send', 'send', 'send', 'receive', 'receive', 'next', 'many'),
  how: fc.constantFrom('plain', 'plain', 'signal', 'timeout', 'both'),
  timeout: fc.constantFrom(0, 10, 20),
  max: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY),
} as const);

describe('a program does what the model does', () => {
  type Step = (pair: Pair) => unknown;
  const step = (name: string, act: Step) => Object.assign(act, { [fc.toStringMethod]: () => name });
  const steps: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 40,
      arbitrary: asking.map((ask) =>
        step(`ask(${fc.stringify(ask)})`, (pair) => {
          pair.ask(ask.kind, ask.how, ask.timeout, ask.max);
        }),
      ),
    },
    { weight: 5, arbitrary: fc.constant(step('trySend', (pair) => pair.trySend())) },
    { weight: 5, arbitrary: fc.constant(step('tryReceive', (pair) => pair.tryReceive())) },
    {
      weight: 12,
      arbitrary: fc
        .nat({ max: 9 })
        .map((n) => step(`leave(${n})`, (pair) => pair.leave(pair.pick(n)))),
    },
    {
      weight: 6,
      arbitrary: fc.constantFrom(5, 10).map((ms) => step(`+${ms}`, (pair) => pair.advance(ms))),
    },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom('close', 'close with reason', 'abort')
        .map((how) => step(how, (pair) => pair.end(how as 'close'))),
    },
    { weight: 10, arbitrary: fc.constant(step('a microtask', () => Promise.resolve())) },
    { weight: 4, arbitrary: fc.constant(step('all microtasks', () => nextMacrotask())) },
  );

  test('of calls in a row, with any number of microtasks in between', async () => {
    await fc.assert(
      fc.asyncProperty(
        channels,
        fc.array(steps, { minLength: 5, maxLength: 80, size: 'max' }),
        async ({ capacity, policy }, program) => {
          vi.clearAllTimers();
          const pair = new Pair(capacity, policy);
          for (const act of program) {
            const pause = act(pair);
            if (pause instanceof Promise) await pause;
          }
          await pair.finish();
        },
      ),
      { numRuns: 500 },
    );
  });

  test('of tasks that the scheduler interleaves, each of which thinks again at any point', async () => {
    const task = fc.array(fc.tuple(asking, fc.option(fc.nat({ max: 2 }), { freq: 2 })), {
      minLength: 1,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        channels,
        fc.array(task, { minLength: 2, maxLength: 6 }),
        fc.constantFrom(undefined, 'close', 'close with reason', 'abort'),
        async (scheduler, { capacity, policy }, tasks, ending) => {
          vi.clearAllTimers();
          const pair = new Pair(capacity, policy);
          const turn = (label: string) => scheduler.schedule(Promise.resolve(), label);
          const run = async (asks: (typeof tasks)[number], name: string) => {
            for (const [ask, abortAfter] of asks) {
              await turn(`${name} asks`);
              const { settled, wait } = pair.ask(ask.kind, ask.how, ask.timeout, ask.max);
              if (abortAfter !== null) {
                const abort = async () => {
                  for (let n = 0; n <= abortAfter; n++) await turn(`${name} thinks again`);
                  pair.leave(wait);
                };
                void abort();
              }
              await settled;
            }
          };
          for (const [index, asks] of tasks.entries()) void run(asks, `task ${index}`);
          if (ending !== undefined) void turn(ending).then(() => pair.end(ending as 'close'));
          void turn('time').then(() => pair.advance(10));
          await scheduler.waitIdle();
          await pair.finish();
        },
      ),
      { numRuns: 500 },
    );
  });
});
