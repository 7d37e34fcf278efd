/**
 * A watch: the latest value, and receivers that wait for changes.
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
 * A value that changes, such as settings or a connection state, and receivers that wait for changes. A slow receiver
 * sees only the latest value and skips those between.
 *
 * Each {@link send} counts as a change, also if the value equals the previous one.
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

  /** @throws {TypeError} for invalid options. */
  constructor(initial: T, options?: NameOptions) {
    super(options);
    this._value = initial;
  }

  /** The latest value, also after {@link close}. */
  get value(): T {
    return this._value;
  }

  /**
   * Sets the value and wakes all receivers. Never waits.
   *
   * @throws The reason of {@link close}, if the watch is closed.
   */
  send(value: T): void {
    if (!(this instanceof Watch)) throw detached('send');
    this._refuse();
    this._value = value;
    this._sent++;
    this._serve();
  }

  /**
   * Sends the result of `fn`, called with the current value.
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

  /** Returns a new receiver that has seen the current value. */
  subscribe(): WatchReceiver<T> {
    if (!(this instanceof Watch)) throw detached('subscribe');
    return new WatchReceiver(this);
  }
}

/** A receiver of a {@link Watch}. Created by {@link Watch.subscribe}. */
export class WatchReceiver<T> extends Subscriber<T, Watch<T>> {
  /** The latest value. Reading it does not mark it as seen. */
  get value(): T {
    return this._source._value;
  }

  /** Whether a value was sent that this receiver has not seen. */
  get hasChanged(): boolean {
    return this._has();
  }

  /**
   * Waits for a value that this receiver has not seen, marks the latest value as seen and resolves with it. All calls
   * that wait on one receiver resolve with the same change.
   *
   * Never throws. Rejects with the signal's reason, a `TimeoutError`, the reason of {@link Watch.close} once the last
   * value was seen, or a `RangeError` or `TypeError` for invalid options. A change after a rejection is seen by the next
   * call.
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

  /** Iterates over the current value, seen or not, and then each latest value. Ends when the watch is closed. */
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
    // Only the calls that wait now. A value that is sent meanwhile serves the others itself.
    let length = this._has() ? _receivers.length : 0;
    for (; length > 0 && _source._sent === sent; length--) {
      const waiter = firstOf(_receivers);
      if (waiter === undefined) break;
      this._give(this._take(), waiter);
    }
    this._waits();
  }
}
