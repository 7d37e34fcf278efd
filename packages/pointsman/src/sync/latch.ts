/** A gate that opens once, when something has happened so many times. Invariant: nobody waits at an open one. */

import { checkInteger, checkNotOptions, detached } from './errors.js';
import type { WaitOptions } from './options.js';
import { claim } from './wait/give-up.js';
import { type NameOptions, readLabel, readRequest, WaitQueue } from './wait/queue.js';

/**
 * Lets all who wait go on when it has been counted down to zero, and from then on everybody at once. It opens once
 * and stays open; for meetings that repeat there is {@link Barrier}.
 *
 * @example
 * ```ts
 * import { Latch } from 'pointsman';
 *
 * const ready = new Latch(2);
 * for (const service of ['database', 'cache']) {
 *   setTimeout(() => ready.countDown(), 1);
 * }
 * await ready.wait({ timeout: 1_000 });
 * console.log(ready.count); // 0
 * ```
 */
export class Latch {
  #count: number;
  readonly #queue: WaitQueue<void>;

  /**
   * @param count How often it must be counted down: an integer from 0 on. At 0 it is open.
   * @throws {RangeError | TypeError} for any other count, and for options that cannot be used.
   */
  constructor(count: number, options?: NameOptions) {
    if (typeof count === 'object') checkNotOptions('Latch', 'count', count);
    checkInteger('count', count, 0);
    this.#queue = new WaitQueue(readLabel(options));
    this.#count = count;
  }

  /** How often it must still be counted down. */
  get count(): number {
    return this.#count;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * Counts `n` down, by default 1, and opens it at zero. Beyond zero nothing happens, as with Java's `CountDownLatch`:
   * so it can stand in a `finally` that may run once too often, without hiding the error that is on its way.
   *
   * @throws {RangeError | TypeError} unless `n` is an integer from 0 on.
   */
  countDown(n = 1): void {
    if (!(this instanceof Latch)) throw detached('countDown');
    checkInteger('n', n, 0);
    this.#count = Math.max(this.#count - n, 0);
    if (this.#count === 0) this.#queue.resolveAll();
  }

  /**
   * Waits until it is open.
   *
   * Never throws: it rejects with the signal's reason or a `TimeoutError` for a wait given up, and with a `RangeError`
   * or `TypeError` for options that cannot be used.
   */
  async wait(options?: WaitOptions): Promise<void> {
    if (!(this instanceof Latch)) throw detached('wait');
    const request = readRequest(options);
    if (this.#count > 0) return this.#queue.insert(request);
    claim(request.signal);
  }
}
