/**
 * A channel between any number of senders and receivers.
 *
 * Invariant: no receiver waits while a value is available, and no sender waits while the buffer has space. The only
 * exception: two cases of one `select` never match each other, so both may wait, and then no other caller waits.
 *
 * The values of waiting senders are in the same list as the buffered values, after them. So `receive` is the same for
 * every capacity: remove the first value, then resolve the first waiting sender. That sender's value is now buffered
 * or, with a capacity of 0, is the removed value.
 */

import {
  cancelledError,
  causeOf,
  checkCount,
  checkNotOptions,
  checkOneOf,
  detached,
  fullError,
  invalid,
  timedOut,
} from '../errors.js';
import type { WaitOptions } from '../options.js';
import { ChunkedList, type Position } from '../wait/chunked-list.js';
import { giveUpOn, winContest } from '../wait/give-up.js';
import { readLabel, readWait, WaitQueue } from '../wait/queue.js';
import { firstOf, grantWith, Receiver } from './receiver.js';

/** Options for the constructor of {@link Channel}. */
export interface ChannelOptions {
  /** Prefix for error messages. */
  readonly name?: string | undefined;
  /**
   * What {@link Channel.send} does when the buffer is full. `wait`, the default: the sender waits. `drop-oldest`: the
   * oldest buffered value is dropped; requires a capacity of at least 1. `reject`: rejects with a `QueueFullError`.
   */
  readonly whenFull?: 'wait' | 'drop-oldest' | 'reject' | undefined;
}

const policies = ['wait', 'drop-oldest', 'reject'];
const channelNames: readonly string[] = ['name', 'whenFull'];

/** A value that can be removed with its sender; also wraps `undefined`, which the list does not accept. */
class Held<T> implements Position {
  chunk: unknown;
  index = 0;

  constructor(
    readonly line: ChunkedList<T | Held<T>>,
    readonly value: T,
  ) {}

  delete(): void {
    this.line.remove(this);
  }
}

/** Marks a `receiveMany` request: it is granted an iterator result, so that it can tell a value from the end. */
const many = new Set();

/**
 * A queue of values between tasks.
 *
 * - **FIFO.** Values are received in the order in which they were sent. Waiting senders and waiting receivers are served
 *   in FIFO order. Each value is received exactly once.
 * - **Back-pressure.** With a capacity of `n`, up to `n` values are buffered; further senders wait. With 0, each sender
 *   waits until its value is received. With `Infinity`, senders never wait.
 * - **Cancellation loses nothing.** A cancelled `send` removes its value; a cancelled `receive` has received none.
 * - **Closing is clean.** After {@link close}, buffered values can still be received; then receivers reject and
 *   iterators end. {@link abort} discards buffered values.
 *
 * `undefined` and `null` are ordinary values. A promise can be sent as a value; the promise of {@link receive} then
 * adopts it, while iterators, {@link tryReceive} and {@link receiveMany} return the promise itself.
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
  /** Maximum number of buffered values. */
  readonly capacity: number;
  readonly #whenFull: ChannelOptions['whenFull'];
  #values = new ChunkedList<T | Held<T>>();
  readonly #senders: WaitQueue<void>;

  /**
   * @param capacity Maximum number of buffered values: an integer >= 0, or `Infinity`.
   * @throws {RangeError | TypeError} for an invalid capacity or option.
   */
  constructor(capacity: number, options: ChannelOptions = {}) {
    checkNotOptions('Channel', 'capacity', capacity);
    super(readLabel(options, channelNames));
    const { whenFull = 'wait' } = options;
    checkOneOf('whenFull', whenFull, policies);
    checkCount('capacity', capacity, whenFull === 'drop-oldest' ? 1 : 0);
    this.#whenFull = whenFull;
    this.capacity = capacity;
    this.#senders = new WaitQueue(this._label);
  }

  /** The number of buffered values. */
  get length(): number {
    return this.#values.length - this.#senders.length;
  }

  /** The number of waiting senders. */
  get waitingSenders(): number {
    return this.#senders.length;
  }

  /** The number of waiting receivers. */
  get waitingReceivers(): number {
    return this._receivers.length;
  }

  /**
   * Sends a value; waits while the buffer is full. Resolves when the value is buffered or, with a capacity of 0,
   * received.
   *
   * Never throws. Rejects with the signal's reason, a `TimeoutError`, the reason of {@link close} or {@link abort}, a
   * `QueueFullError` if `whenFull` is `'reject'`, or a `RangeError` or `TypeError` for invalid options. A value whose
   * `send` rejects is never received.
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
      const request = options === undefined ? options : readWait(options);
      if (this.#put(value, request?.signal)) return Promise.resolve();
      if (this.#whenFull === 'reject' && request?.timeout !== 0) throw fullError(this._label, 0);
      const values = this.#values;
      const senders = this.#senders;
      if (!request && value !== undefined) {
        values.push(value);
        return senders.append();
      }
      const held = new Held(values, value);
      if (!request) {
        values.add(held);
        return senders.append();
      }
      request.held = held;
      const turn = senders.insert(request, () => held.delete());
      // Not if the request was refused.
      if (request.chunk) values.add(held);
      return turn;
    } catch (error) {
      return Promise.reject(causeOf(error, this, Channel, 'send'));
    }
  }

  /**
   * Sends a value without waiting. Returns `false`, without effect, if the value would have to wait. Never overtakes a
   * waiting sender.
   *
   * @throws The reason of {@link close}, if the channel is closed.
   */
  trySend(value: T): boolean {
    try {
      return this.#put(value);
    } catch (error) {
      throw causeOf(error, this, Channel, 'trySend');
    }
  }

  /**
   * Sends the values of an iterable or an async iterable in order; reads the next value only after the last was sent.
   * Resolves when all values were sent. Does not close the channel.
   *
   * Rejects as {@link send} does, and with an error of the source. `signal` and `timeout` apply to the whole call,
   * including waits for the source. If the call rejects, it ends the source with `return()`.
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
    const { signal, timeout } = readWait(options);
    const { [Symbol.iterator]: each, [Symbol.asyncIterator]: eachAsync } = Object(source);
    const start = eachAsync ?? each;
    if (typeof start !== 'function')
      throw invalid('source', source, 'an iterable or async iterable');
    // A timeout of the whole call becomes a signal of each wait.
    let whole = signal;
    let stop: (() => void) | undefined;
    const iterator = start.call(source);
    // With a timeout of 0, an async source gets one turn of the event loop.
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
      // A source that has not answered `next()` may never answer `return()`.
      if (!pulling) await ended;
      throw error;
    } finally {
      stop?.();
    }
  }

  /**
   * Receives the next value; waits until there is one.
   *
   * Never throws. Rejects with the signal's reason, a `TimeoutError`, the reason of {@link close} once the buffer is
   * empty, or a `RangeError` or `TypeError` for invalid options. A rejected call has received no value.
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
   * Receives the next value without waiting. Returns `undefined`, without effect, if there is none.
   *
   * @throws The reason of {@link close}, if the channel is closed and empty.
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
   * Receives all available values, at least one and at most `max`: an integer >= 1, or `Infinity`. Waits for the first
   * value as {@link receive} does. The values of waiting senders are received too.
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
      const request = readWait(options);
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
   * Closes the channel and discards the buffered values, also after {@link close}. The default reason is an
   * `AbortError`, so iterators throw: values were lost.
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
    // While values were buffered, no receiver has seen the earlier end.
    if (this.length > 0) this._ending = undefined;
    this.close(reason === undefined ? cancelledError(this._label) : reason);
    this.#values = new ChunkedList();
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
    if (!sender) winContest(signal);
    else grantWith(this.#senders, undefined, sender, signal);
    return first instanceof Held ? first.value : first;
  }

  /** @internal */
  override _dismiss(reason: unknown): void {
    const buffered = new ChunkedList<T | Held<T>>();
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

  /** Sends a value without waiting. Returns false if it would have to wait. */
  #put(value: T, signal?: AbortSignal): boolean {
    this._refuse();
    const receiver = firstOf(this._receivers, signal);
    if (receiver) {
      this._give(value, receiver, signal);
      return true;
    }
    const values = this.#values;
    if (values.length >= this.capacity) {
      if (this.#whenFull !== 'drop-oldest') return false;
      values.shift();
    }
    values.push(value === undefined ? new Held(values, value) : value);
    winContest(signal);
    return true;
  }
}

/** Returns the source's answer, or rejects when the signal aborts. */
function within<Step>(step: Step | PromiseLike<Step>, signal: AbortSignal | undefined) {
  if (signal === undefined) return step;
  return new Promise<Step>((resolve, reject) => {
    const stop = giveUpOn({ signal }, reject, timedOut);
    Promise.resolve(step).then(resolve, reject).then(stop);
  });
}
