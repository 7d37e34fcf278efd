/**
 * The latest value, for whoever wants to know when it changes: settings, a state, a connection.
 *
 * Invariant: a receiver waits only if it has seen the latest value.
 */

import { causeOf, detached } from '../errors.js';
import type { WaitOptions } from '../options.js';
import { claim } from '../wait/give-up.js';
import type { NameOptions } from '../wait/queue.js';
import { Publisher, Subscriber } from './publisher.js';
import { firstOf } from './receiver.js';

/**
 * One value that changes, and receivers that are told. What comes in between may be skipped: who is slow sees only the
 * latest.
 *
 * Each {@link send} counts as a change, also of a value that equals the one before.
 *
 * @example
 * ```ts
 * import { Watch } from 'pointsman';
 *
 * const level = new Watch('info');
 * const receiver = level.subscribe();
 * const changed = receiver.changed();
 * level.send('debug');
 * console.log(await changed, level.value); // debug debug
 * console.log(receiver.hasChanged); // false
 * ```
 */
export class Watch<T> extends Publisher {
  /** @internal */
  _value: T;

  /** @throws {TypeError} for options that cannot be used. */
  constructor(initial: T, options?: NameOptions) {
    super(options);
    this._value = initial;
  }

  /** The latest value, also after {@link close}. */
  get value(): T {
    return this._value;
  }

  /**
   * Sets the value and tells all receivers. It never waits.
   *
   * @throws The reason of {@link close}, if closed.
   */
  send(value: T): void {
    if (!(this instanceof Watch)) throw detached('send');
    this._refuse();
    this._value = value;
    this._sent++;
    this._serve();
  }

  /**
   * Sets the value to what `fn` makes of it.
   *
   * @example
   * ```ts
   * import { Watch } from 'pointsman';
   *
   * const count = new Watch(1);
   * count.update((value) => value + 1);
   * console.log(count.value); // 2
   * ```
   */
  update(fn: (value: T) => T): void {
    if (!(this instanceof Watch)) throw detached('update');
    this._refuse();
    this.send(fn(this._value));
  }

  /** A receiver that has seen the present value. */
  subscribe(): WatchReceiver<T> {
    if (!(this instanceof Watch)) throw detached('subscribe');
    return new WatchReceiver(this);
  }
}

/** Sees the latest value of a {@link Watch}. Made by {@link Watch.subscribe}. */
export class WatchReceiver<T> extends Subscriber<T, Watch<T>> {
  /** The latest value. To read it does not mark it as seen. */
  get value(): T {
    return this._source._value;
  }

  /** Whether a value has been sent that it has not seen. */
  get hasChanged(): boolean {
    return this._has();
  }

  /**
   * Waits until a value has been sent that it has not seen, marks the latest as seen and answers with it. All who wait
   * on one receiver are told of the same change.
   *
   * Never throws: it rejects with the signal's reason or a `TimeoutError` for a wait given up, with the reason of
   * {@link Watch.close} once the last value has been seen, and with a `RangeError` or `TypeError` for options that
   * cannot be used. A change that comes after the wait was given up is seen by the next.
   *
   * @example
   * ```ts
   * import { Watch } from 'pointsman';
   *
   * const state = new Watch('starting');
   * const receiver = state.subscribe();
   * state.send('connecting');
   * state.send('ready');
   * console.log(await receiver.changed({ timeout: 1_000 })); // ready
   * ```
   */
  changed(options?: WaitOptions): Promise<T> {
    try {
      return this._receive(options);
    } catch (error) {
      return Promise.reject(causeOf(error, this, WatchReceiver, 'changed'));
    }
  }

  /** The present value, as one that has not been seen, and then each latest. Ends when the watch is closed. */
  override [Symbol.asyncIterator](): AsyncIterableIterator<T, undefined> {
    this._seen = -1;
    return super[Symbol.asyncIterator]();
  }

  /** @internal */
  _take(signal?: AbortSignal): T {
    this._seen = this._source._sent;
    claim(signal);
    return this.value;
  }

  /** @internal */
  override _serve(): void {
    const { _receivers, _source } = this;
    const sent = _source._sent;
    // All who wait now, and not who comes while they are told; whatever is sent meanwhile serves the others itself.
    let length = this._has() ? _receivers.length : 0;
    for (; length > 0 && _source._sent === sent; length--) {
      const waiter = firstOf(_receivers);
      if (waiter === undefined) break;
      this._give(this._take(), waiter);
    }
    this._waits();
  }
}
