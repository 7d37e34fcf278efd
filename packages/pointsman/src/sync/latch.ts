/** A countdown latch. Invariant: an open latch has no waiters. */

import { checkInteger, checkNotOptions, detached } from './errors.js';
import type { WaitOptions } from './options.js';
import { winContest } from './wait/give-up.js';
import { type NameOptions, readLabel, readWait, WaitQueue } from './wait/queue.js';

/**
 * Opens once, when it has been counted down to zero, and stays open. For meetings that repeat, use {@link Barrier}.
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
   * @param count The number to count down from: an integer >= 0. At 0 the latch is open.
   */
  constructor(count: number, options?: NameOptions) {
    checkNotOptions('Latch', 'count', count);
    checkInteger('count', count, 0);
    this.#queue = new WaitQueue(readLabel(options));
    this.#count = count;
  }

  /** The remaining count. */
  get count(): number {
    return this.#count;
  }

  /** The number of waiters. */
  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * Counts down by `n`, by default 1. At zero the latch opens; below it has no effect, as with Java's `CountDownLatch`:
   * a `finally` that runs once too often does not hide the error that is thrown.
   *
   * @throws {RangeError | TypeError} unless `n` is an integer >= 0.
   */
  countDown(n = 1): void {
    if (!(this instanceof Latch)) throw detached('countDown');
    checkInteger('n', n, 0);
    this.#count = Math.max(this.#count - n, 0);
    if (this.#count === 0) this.#queue.resolveAll();
  }

  /**
   * Waits until the latch is open. Never throws; rejects with the signal's reason, a `TimeoutError`, or a `RangeError` or
   * `TypeError` for invalid options.
   */
  async wait(options?: WaitOptions): Promise<void> {
    if (!(this instanceof Latch)) throw detached('wait');
    const request = readWait(options);
    // `await` handles a rejection in this step; workerd reports it otherwise.
    if (this.#count > 0) await this.#queue.insert(request);
    else winContest(request.signal);
  }
}
