/**
 * A broadcast: every receiver sees every value.
 *
 * Values are in a linked list that ends with an empty slot. A receiver references the slot that it reads next, and a slot
 * counts the receivers that read it next.
 *
 * Invariant: the list contains at most `capacity` values, and the oldest slot has a reader. So a value is dropped in the
 * step in which its last reader has received it or was closed.
 *
 * When the oldest value is dropped, its readers are counted at the next slot and will continue there. A dropped slot has
 * no `next`, so a slow receiver that still references it keeps no values alive.
 */

import { causeOf, checkInteger, checkNotOptions, detached, LaggedError } from '../errors.js';
import type { WaitOptions } from '../options.js';
import { winContest } from '../wait/give-up.js';
import type { NameOptions } from '../wait/queue.js';
import { Publisher, Subscriber } from './publisher.js';

/** A value, or the empty slot for the next one. */
interface Slot<T> {
  value: T | undefined;
  next: Slot<T> | undefined;
  /** The number of receivers that read this slot next. */
  readers: number;
}

const slot = <T>(): Slot<T> => ({ value: undefined, next: undefined, readers: 0 });

/**
 * Sends each value to all current receivers.
 *
 * - **Senders never wait.** The newest `capacity` values are kept for receivers that have not received them. A receiver
 *   that lags further behind gets one {@link LaggedError} with the number of missed values, and continues with the
 *   oldest kept value.
 * - **Memory is bounded.** A value is dropped when all receivers have received it. Close a receiver that is no longer
 *   used, best with `using`: a forgotten receiver keeps up to `capacity` values alive.
 *
 * @example
 * ```ts
 * import { Broadcast } from 'pointsman';
 *
 * const prices = new Broadcast<number>(16);
 * using one = prices.subscribe();
 * using other = prices.subscribe();
 * console.log(prices.send(99)); // 2
 * console.log(await one.receive(), await other.receive()); // 99 99
 * ```
 */
export class Broadcast<T> extends Publisher {
  /** Maximum number of kept values. */
  readonly capacity: number;
  /** @internal */
  _oldest: Slot<T> = slot();
  /** @internal The empty slot. */
  _newest = this._oldest;
  /** @internal The number of kept values. */
  _length = 0;

  /**
   * @param capacity Maximum number of values kept for slow receivers: an integer >= 1.
   * @throws {RangeError | TypeError} for an invalid capacity or option.
   */
  constructor(capacity: number, options?: NameOptions) {
    checkNotOptions('Broadcast', 'capacity', capacity);
    checkInteger('capacity', capacity, 1);
    super(options);
    this.capacity = capacity;
  }

  /**
   * Sends a value to all receivers, and returns their number. Never waits.
   *
   * @throws The reason of {@link close}, if the broadcast is closed.
   */
  send(value: T): number {
    if (!(this instanceof Broadcast)) throw detached('send');
    this._refuse();
    const newest = this._newest;
    newest.value = value;
    this._newest = newest.next = slot();
    this._sent++;
    if (++this._length > this.capacity) this._drop();
    this._trim();
    this._serve();
    return this._count;
  }

  /**
   * Returns a new receiver of all values that are sent from now on.
   *
   * @example
   * ```ts
   * import { Broadcast } from 'pointsman';
   *
   * const lines = new Broadcast<string>(2);
   * using receiver = lines.subscribe();
   * for (const line of ['one', 'two', 'three']) lines.send(line);
   * await receiver.receive().catch((error) => console.log(error.missed)); // 1
   * console.log(await receiver.receive()); // two
   * ```
   */
  subscribe(): BroadcastReceiver<T> {
    if (!(this instanceof Broadcast)) throw detached('subscribe');
    return new BroadcastReceiver(this);
  }

  /** @internal Drops the oldest value; receivers that have not received it have missed it. */
  _drop(): void {
    const oldest = this._oldest;
    const next = oldest.next as Slot<T>;
    next.readers += oldest.readers;
    oldest.value = oldest.next = undefined;
    this._oldest = next;
    this._length--;
  }

  /** @internal Drops the values that all receivers have received. */
  _trim(): void {
    while (this._length > 0 && this._oldest.readers === 0) this._drop();
  }
}

/** Receives every value that is sent after its creation by {@link Broadcast.subscribe}. */
export class BroadcastReceiver<T> extends Subscriber<T, Broadcast<T>> {
  /** @internal */
  _slot: Slot<T>;

  /** @internal */
  constructor(source: Broadcast<T>) {
    super(source);
    this._slot = source._newest;
    this._slot.readers++;
  }

  /** The number of values that can be received now. */
  get length(): number {
    return this._has() ? Math.min(this._source._sent - this._seen, this._source._length) : 0;
  }

  /**
   * Receives the next value; waits until there is one. Several calls on one receiver are served in FIFO order, each with
   * a different value.
   *
   * Never throws. Rejects with a {@link LaggedError} if values were missed, the signal's reason, a `TimeoutError`, the
   * reason of {@link Broadcast.close} once all values were received, or a `RangeError` or `TypeError` for invalid
   * options.
   */
  receive(options?: WaitOptions): Promise<T> {
    try {
      return this._receive(options);
    } catch (error) {
      return Promise.reject(causeOf(error, this, BroadcastReceiver, 'receive'));
    }
  }

  /**
   * Receives the next value without waiting. Returns `undefined` if there is none.
   *
   * @throws A {@link LaggedError} if values were missed; the reason of {@link Broadcast.close} once all values were
   * received.
   */
  tryReceive(): { value: T } | undefined {
    if (!(this instanceof BroadcastReceiver)) throw detached('tryReceive');
    return this._tryReceive();
  }

  /** Closes only this receiver. It receives nothing more, not even values sent before. */
  override close(reason?: unknown): void {
    if (!(this instanceof BroadcastReceiver)) throw detached('close');
    if (!this._gone) {
      this._place().readers--;
      this._source._trim();
    }
    super.close(reason);
  }

  /** @internal */
  _take(signal?: AbortSignal): T {
    const { _source, _slot, _seen } = this;
    const place = this._place();
    if (place !== _slot) {
      this._slot = place;
      this._seen = _source._sent - _source._length;
      const missed = this._seen - _seen;
      winContest(signal);
      throw new LaggedError(`${this._label}${missed} values were missed`, missed);
    }
    const { value, next } = place as { value: T; next: Slot<T> };
    this._seen++;
    this._slot = next;
    next.readers++;
    place.readers--;
    _source._trim();
    winContest(signal);
    return value;
  }

  /** @internal Returns the slot that this receiver reads next. */
  _place(): Slot<T> {
    const { _source } = this;
    return this._seen < _source._sent - _source._length ? _source._oldest : this._slot;
  }
}
