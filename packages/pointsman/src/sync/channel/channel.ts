/**
 * Passing values on from any number of senders to any number of receivers.
 *
 * Invariant: a value that can be taken and a receiver that waits never stand side by side, nor room and a sender that
 * waits. The only exception are the cases of one `select`, which must not meet each other; then nobody else waits.
 *
 * The values of those senders who wait stand in the same line as what is buffered, behind it. So to receive is the
 * same for every capacity: take the first value, then tell the first sender that its value has been taken, or that
 * it is buffered now. With a capacity of 0 that is the sender of this very value.
 */

import {
  cancelledError,
  causeOf,
  checkCount,
  checkNotOptions,
  checkOneOf,
  detached,
  invalid,
  timedOut,
} from '../errors.js';
import type { WaitOptions } from '../options.js';
import { claim, giveUpOn } from '../wait/give-up.js';
import { Line, type Place } from '../wait/line.js';
import { readQueueOptions, readRequest, WaitQueue } from '../wait/queue.js';
import { firstOf, grantWith, Receiver } from './receiver.js';

/** What a {@link Channel} may be told when it is made. */
export interface ChannelOptions {
  /** What it is called: the messages of its errors begin with it. */
  readonly name?: string | undefined;
  /**
   * What becomes of a value for which there is no room: its sender waits, which is the default; the oldest that is
   * buffered makes room for it, which needs a capacity of 1 or more; or it is refused with a `QueueFullError`.
   */
  readonly whenFull?: 'wait' | 'drop-oldest' | 'reject' | undefined;
}

const policies = ['wait', 'drop-oldest', 'reject'];
const channelNames: ReadonlySet<string> = new Set(['name', 'whenFull']);

/** A value that may leave the line with its sender, or that the line would take for nothing. */
class Held<T> implements Place {
  chunk: unknown;
  index = 0;

  constructor(
    readonly line: Line<T | Held<T>>,
    readonly value: T,
  ) {}

  delete(): void {
    this.line.remove(this);
  }
}

/** What holds those who receive several at once: they wait for a result, as iterators do. */
const many = new Set();

/**
 * A queue of values between tasks.
 *
 * - **FIFO.** Values arrive in the order in which they were sent; senders and receivers who wait are served in the
 *   order in which they came. Each value goes to exactly one receiver.
 * - **Back-pressure.** With a capacity of `n`, `n` values are buffered and further senders wait. With 0
 *   each sender waits until a receiver has taken its value. With `Infinity` nobody who sends ever waits.
 * - **Giving up loses nothing.** A sender who gives up takes its value back; a receiver who gives up has taken none.
 *   What was taken before an abort stays taken.
 * - **Closing is clean.** After {@link close} what is buffered can still be received, then receivers are told.
 *   {@link abort} discards it.
 *
 * `undefined` and `null` are values like others. A promise as a value is passed on as it is, but what
 * {@link receive} answers with is awaited, so that its caller gets what the promise is resolved with; iterators,
 * {@link tryReceive} and {@link receiveMany} give the promise itself.
 *
 * @example
 * ```ts
 * import { Channel } from 'pointsman';
 *
 * const jobs = new Channel<number>(10);
 *
 * async function work(): Promise<number> {
 *   let sum = 0;
 *   for await (const job of jobs) sum += job;
 *   return sum;
 * }
 *
 * const workers = [work(), work()];
 * await jobs.sendAll([1, 2, 3, 4]);
 * jobs.close();
 * const [one = 0, other = 0] = await Promise.all(workers);
 * console.log(one + other); // 10
 * ```
 */
export class Channel<T> extends Receiver<T> {
  /** How many values are buffered at most. */
  readonly capacity: number;
  readonly #drops: boolean;
  #values = new Line<T | Held<T>>();
  readonly #senders: WaitQueue<void>;

  /**
   * @param capacity How many values are buffered: an integer from 0 on, or `Infinity`.
   * @throws {RangeError | TypeError} for any other capacity, and for options that cannot be used.
   */
  constructor(capacity: number, options: ChannelOptions = {}) {
    if (typeof capacity === 'object') checkNotOptions('Channel', 'capacity', capacity);
    super(readQueueOptions(options, channelNames).label);
    const { whenFull = 'wait' } = options;
    checkOneOf('whenFull', whenFull, policies);
    this.#drops = whenFull === 'drop-oldest';
    checkCount('capacity', capacity, this.#drops ? 1 : 0);
    this.capacity = capacity;
    this.#senders = new WaitQueue(this._label, whenFull === 'reject' ? 0 : undefined);
  }

  /** How many values are buffered. */
  get length(): number {
    return this.#values.length - this.#senders.length;
  }

  /** How many senders wait for room or, with a capacity of 0, for a receiver. */
  get waitingSenders(): number {
    return this.#senders.length;
  }

  /** How many receivers wait for a value. */
  get waitingReceivers(): number {
    return this._receivers.length;
  }

  /**
   * Sends a value, waiting in the queue for room. It resolves when the value is buffered or, with a capacity of 0,
   * when a receiver has taken it.
   *
   * Never throws: it rejects with the signal's reason or a `TimeoutError` for a wait given up, with the reason of
   * {@link close} or {@link abort}, with a `QueueFullError` where `whenFull` is `'reject'`, and with a `RangeError` or
   * `TypeError` for options that cannot be used. After a rejection nobody will receive the value.
   *
   * @example
   * ```ts
   * import { Channel } from 'pointsman';
   *
   * const channel = new Channel<string>(1);
   * await channel.send('first');
   * await channel.send('second', { timeout: 5 }).catch((error) => console.log(error.name)); // TimeoutError
   * console.log(await channel.receive(), channel.length); // first 0
   * ```
   */
  send(value: T, options?: WaitOptions): Promise<void> {
    try {
      const request = options && readRequest(options);
      if (this.#put(value, request?.signal)) return Promise.resolve();
      const values = this.#values;
      const senders = this.#senders;
      const { length } = senders;
      if (!request && value !== undefined) {
        const turn = senders.append();
        if (senders.length > length) values.push(value);
        return turn;
      }
      const held = new Held(values, value);
      if (request) request.held = held;
      const turn = request ? senders.insert(request, () => held.delete()) : senders.append();
      // Otherwise it was refused.
      if (senders.length > length) values.add(held);
      return turn;
    } catch (error) {
      return Promise.reject(causeOf(error, this, Channel, 'send'));
    }
  }

  /**
   * Sends a value if that needs no waiting, otherwise it is `false` and nothing has changed. It never overtakes a
   * sender who waits.
   *
   * @throws The reason of {@link close}, if closed.
   */
  trySend(value: T): boolean {
    try {
      return this.#put(value);
    } catch (error) {
      throw causeOf(error, this, Channel, 'trySend');
    }
  }

  /**
   * Sends all values of an iterable or an async iterable one after the other, and takes the next only when the last
   * has been sent. Resolves when the last has been sent, and closes nothing.
   *
   * Rejects as {@link send} does, and with what the source throws. Signal and timeout hold for the whole, also while
   * it waits for the source. If it fails, the source is ended with `return()`.
   *
   * @example
   * ```ts
   * import { Channel } from 'pointsman';
   *
   * const channel = new Channel<number>(0);
   * void channel.sendAll([1, 2, 3]).then(() => channel.close());
   * let sum = 0;
   * for await (const value of channel) sum += value;
   * console.log(sum); // 6
   * ```
   */
  async sendAll(source: Iterable<T> | AsyncIterable<T>, options?: WaitOptions): Promise<void> {
    if (!(this instanceof Channel)) throw detached('sendAll');
    const { signal, timeout } = readRequest(options);
    const { [Symbol.iterator]: each, [Symbol.asyncIterator]: eachAsync } = Object(source);
    const start = eachAsync ?? each;
    if (typeof start !== 'function')
      throw invalid('source', source, 'an iterable or async iterable');
    // One limit for the whole becomes a signal for each wait.
    let whole = signal;
    let stop: (() => void) | undefined;
    const iterator = start.call(source);
    // Without time to wait, a source that is asked to answer later has the turn of the event loop.
    if (timeout || (timeout === 0 && eachAsync)) {
      const controller = new AbortController();
      whole = controller.signal;
      const giveUp = (reason: unknown) => controller.abort(reason);
      stop = giveUpOn({ signal, timeout }, giveUp, (time) => timedOut(time, this._label));
    }
    const limits = { signal: whole, timeout: timeout === 0 ? 0 : undefined };
    let pulling = false;
    try {
      for (;;) {
        pulling = eachAsync !== undefined;
        const next = iterator.next();
        const { done, value } = pulling ? await within(next, whole) : next;
        pulling = false;
        if (done) return;
        if (whole?.aborted) throw whole.reason;
        if (!this.#put(value, signal)) await this.send(value, limits);
      }
    } catch (error) {
      const ended = (async () => iterator.return?.())().catch(() => {});
      // A source that was left while it thinks about its next value may never answer.
      if (!pulling) await ended;
      throw error;
    } finally {
      stop?.();
    }
  }

  /**
   * Receives the next value, waiting in the queue until there is one.
   *
   * Never throws: it rejects with the signal's reason or a `TimeoutError` for a wait given up, with the reason of
   * {@link close} once nothing is buffered, and with a `RangeError` or `TypeError` for options that cannot be used.
   * After a rejection no value is lost.
   *
   * @example
   * ```ts
   * import { Channel } from 'pointsman';
   *
   * const channel = new Channel<string>(1);
   * const received = channel.receive({ timeout: 1_000 });
   * channel.trySend('here');
   * console.log(await received); // here
   * ```
   */
  receive(options?: WaitOptions): Promise<T> {
    try {
      return this._receive(options);
    } catch (error) {
      return Promise.reject(causeOf(error, this, Channel, 'receive'));
    }
  }

  /**
   * Receives the next value if there is one, otherwise it is `undefined` and nothing has changed.
   *
   * @throws The reason of {@link close}, if closed and empty.
   *
   * @example
   * ```ts
   * import { Channel } from 'pointsman';
   *
   * const channel = new Channel<number>(1);
   * console.log(channel.tryReceive()); // undefined
   * channel.trySend(7);
   * console.log(channel.tryReceive()); // { value: 7 }
   * ```
   */
  tryReceive(): { value: T } | undefined {
    try {
      return this._tryReceive();
    } catch (error) {
      throw causeOf(error, this, Channel, 'tryReceive');
    }
  }

  /**
   * Receives what is there, at least one value and at most `max`: an integer from 1 on, or `Infinity`. While there is
   * none it waits as {@link receive} does. Those who wait to send are served at once, and their values taken too.
   *
   * @example
   * ```ts
   * import { Channel } from 'pointsman';
   *
   * const channel = new Channel<number>(10);
   * await channel.sendAll([1, 2, 3]);
   * console.log(await channel.receiveMany(2), await channel.receiveMany(2)); // [ 1, 2 ] [ 3 ]
   * ```
   */
  receiveMany(max: number, options?: WaitOptions): Promise<T[]> {
    try {
      checkCount('max', max, 1);
      const request = readRequest(options);
      if (this._has(request.signal)) {
        return Promise.resolve(this.#batch(max, [this._take(request.signal)]));
      }
      request.held = many;
      return this._wait(request).then(({ value, done }) => {
        if (done) this._refuse();
        return this.#batch(max, [value]);
      });
    } catch (error) {
      return Promise.reject(causeOf(error, this, Channel, 'receiveMany'));
    }
  }

  /**
   * Closes it and discards what is buffered, also after {@link close}. By default the reason is the
   * platform's `AbortError`, so that iterators throw: values were lost.
   *
   * @example
   * ```ts
   * import { Channel } from 'pointsman';
   *
   * const channel = new Channel<number>(1);
   * channel.trySend(1);
   * channel.abort();
   * await channel.receive().catch((error) => console.log(error.name)); // AbortError
   * ```
   */
  abort(reason?: unknown): void {
    if (!(this instanceof Channel)) throw detached('abort');
    // Nobody has been told of an earlier end while something was there.
    if (this.length > 0) this._ending = undefined;
    this.close(reason === undefined ? cancelledError(this._label) : reason);
    this.#values = new Line();
  }

  /** @internal */
  _has(signal?: AbortSignal): boolean {
    return (
      this.#values.length > 0 && (this.capacity > 0 || firstOf(this.#senders, signal) !== undefined)
    );
  }

  /** @internal */
  _take(signal?: AbortSignal): T {
    const values = this.#values;
    const first = values.front as T | Held<T>;
    values.shift();
    const sender = firstOf(this.#senders, signal);
    if (!sender) claim(signal);
    else grantWith(this.#senders, undefined, sender, signal);
    return first instanceof Held ? first.value : first;
  }

  /** @internal */
  override _dismiss(reason: unknown): void {
    const buffered = new Line<T | Held<T>>();
    for (let { length } = this; length > 0; length--) {
      buffered.push(this.#values.front as T | Held<T>);
      this.#values.shift();
    }
    this.#values = buffered;
    this.#senders.rejectAll(reason);
    super._dismiss(reason);
  }

  #batch(max: number, values: T[]): T[] {
    while (values.length < max && this._has()) values.push(this._take());
    return values;
  }

  /** Whether the value could be sent without waiting. */
  #put(value: T, signal?: AbortSignal): boolean {
    this._refuse();
    const receiver = firstOf(this._receivers, signal);
    if (receiver) {
      this._give(value, receiver, signal);
      return true;
    }
    const values = this.#values;
    if (values.length >= this.capacity) {
      if (!this.#drops) return false;
      values.shift();
    }
    values.push(value === undefined ? new Held(values, value) : value);
    claim(signal);
    return true;
  }
}

/** What the source answers, unless the signal aborts first. */
function within<Step>(step: Step | PromiseLike<Step>, signal: AbortSignal | undefined) {
  if (signal === undefined) return step;
  return new Promise<Step>((resolve, reject) => {
    const stop = giveUpOn({ signal }, reject, timedOut);
    Promise.resolve(step).then(resolve, reject).then(stop);
  });
}
