/**
 * Every receiver sees every value: events, lines of a log, prices.
 *
 * Values stand in a linked list, the last place of which is empty. Each receiver knows the place that it reads next,
 * and each place how many receivers are there. Invariant: there are at most `capacity` values, and some receiver is at
 * the oldest. So a value is let go in the step in which the last receiver that needed it has taken it or was closed.
 *
 * A receiver that is too slow is overtaken by the oldest place, and counted there from then on, where it will read when
 * it comes. The place that it still knows leads nowhere, so it keeps nothing alive.
 */

import { causeOf, checkInteger, checkNotOptions, detached, LaggedError } from '../errors.js';
import type { WaitOptions } from '../options.js';
import { claim } from '../wait/give-up.js';
import type { NameOptions } from '../wait/queue.js';
import { Publisher, Subscriber } from './publisher.js';

/** Where a value is, or the next will be. */
interface Slot<T> {
  value: T | undefined;
  next: Slot<T> | undefined;
  /** How many receivers read this next. */
  readers: number;
}

const slot = <T>(): Slot<T> => ({ value: undefined, next: undefined, readers: 0 });

/**
 * Sends each value to all receivers that there are.
 *
 * - **Nobody waits to send.** It keeps the newest `capacity` values for those that have not received them. A receiver
 *   that lags behind further is told once how many it has missed, by a {@link LaggedError}, and goes on with the oldest
 *   that is kept.
 * - **Nothing is kept for nobody.** A value is let go when all receivers have it. A receiver that is not wanted any
 *   more should be closed, best by `using`; one that was forgotten makes it keep `capacity` values, and no more.
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
  /** How many values are kept at most. */
  readonly capacity: number;
  /** @internal */
  _oldest: Slot<T> = slot();
  /** @internal The empty place. */
  _newest = this._oldest;
  /** @internal How many values are kept. */
  _length = 0;

  /**
   * @param capacity How many values are kept for slow receivers: an integer from 1 on, exactly.
   * @throws {RangeError | TypeError} for any other capacity, and for options that cannot be used.
   */
  constructor(capacity: number, options?: NameOptions) {
    if (typeof capacity === 'object') checkNotOptions('Broadcast', 'capacity', capacity);
    checkInteger('capacity', capacity, 1);
    super(options);
    this.capacity = capacity;
  }

  /**
   * Sends a value to all receivers, and answers how many there are. It never waits.
   *
   * @throws The reason of {@link close}, if closed.
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
   * A receiver of all that is sent from now on.
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

  /** @internal Lets the oldest value go; who has not received it has missed it. */
  _drop(): void {
    const oldest = this._oldest;
    const next = oldest.next as Slot<T>;
    next.readers += oldest.readers;
    oldest.value = oldest.next = undefined;
    this._oldest = next;
    this._length--;
  }

  /** @internal Lets go what nobody needs. */
  _trim(): void {
    while (this._length > 0 && this._oldest.readers === 0) this._drop();
  }
}

/** Sees every value that is sent after it has been subscribed. Made by {@link Broadcast.subscribe}. */
export class BroadcastReceiver<T> extends Subscriber<T, Broadcast<T>> {
  /** @internal */
  _slot: Slot<T>;

  /** @internal */
  constructor(source: Broadcast<T>) {
    super(source);
    this._slot = source._newest;
    this._slot.readers++;
  }

  /** How many values it can receive now. */
  get length(): number {
    return this._has() ? Math.min(this._source._sent - this._seen, this._source._length) : 0;
  }

  /**
   * Receives the next value, waiting until there is one. Several who wait on one receiver are served in the order in
   * which they came, each with a value of its own.
   *
   * Never throws: it rejects with a {@link LaggedError} when values were missed, with the signal's reason or a
   * `TimeoutError` for a wait given up, with the reason of {@link Broadcast.close} once all has been received, and with
   * a `RangeError` or `TypeError` for options that cannot be used.
   */
  receive(options?: WaitOptions): Promise<T> {
    try {
      return this._receive(options);
    } catch (error) {
      return Promise.reject(causeOf(error, this, BroadcastReceiver, 'receive'));
    }
  }

  /**
   * Receives the next value if there is one, otherwise it is `undefined`.
   *
   * @throws A {@link LaggedError} when values were missed; the reason of {@link Broadcast.close} once all has been
   * received.
   */
  tryReceive(): { value: T } | undefined {
    if (!(this instanceof BroadcastReceiver)) throw detached('tryReceive');
    return this._tryReceive();
  }

  /** Ends this receiver alone. As the `close` of what it receives from, but what it has not received is let go. */
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
      claim(signal);
      throw new LaggedError(`${this._label}${missed} values were missed`, missed);
    }
    const { value, next } = place as { value: T; next: Slot<T> };
    this._seen++;
    this._slot = next;
    next.readers++;
    place.readers--;
    _source._trim();
    claim(signal);
    return value;
  }

  /** Where it reads next. @internal */
  _place(): Slot<T> {
    const { _source } = this;
    return this._seen < _source._sent - _source._length ? _source._oldest : this._slot;
  }
}
