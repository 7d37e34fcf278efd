/**
 * Notifications without data: tells one who waits, or all, that something has happened.
 *
 * Invariant: while a notification is kept, nobody waits.
 */

import { causeOf, detached } from './errors.js';
import type { WaitOptions } from './options.js';
import { claim } from './wait/give-up.js';
import { type NameOptions, readLabel, readRequest, WaitQueue } from './wait/queue.js';

/**
 * Tells one who waits, or all, that something has happened. What has happened is for them to know: a notification
 * carries no data. The semantics are those of Tokio's `Notify`.
 *
 * - **FIFO.** {@link notifyOne} wakes who has waited longest.
 * - **At most one is kept.** When nobody waits, {@link notifyOne} keeps its notification for the next who comes;
 *   {@link notifyWaiters} keeps none.
 * - **None is lost.** Who gives up before it was notified takes nothing along; whoever was notified keeps that, also
 *   if its signal aborts in the same step.
 *
 * Who waits does so from the moment of the call. So ask first, look then, and wait last, and nothing that happens
 * in between is missed.
 *
 * @example
 * ```ts
 * import { Notify } from 'pointsman';
 *
 * const jobs: string[] = [];
 * const added = new Notify();
 *
 * async function next(): Promise<string> {
 *   for (;;) {
 *     const job = jobs.shift();
 *     if (job !== undefined) return job;
 *     await added.notified();
 *   }
 * }
 *
 * const first = next();
 * jobs.push('sweep');
 * added.notifyOne();
 * console.log(await first); // sweep
 * ```
 */
export class Notify {
  #kept = false;
  readonly #label: string;
  #queue: WaitQueue<void>;

  /** @throws {TypeError} for options that cannot be used. */
  constructor(options?: NameOptions) {
    this.#label = readLabel(options);
    this.#queue = new WaitQueue(this.#label);
  }

  /** How many wait. */
  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * Waits for a notification, and takes one that was kept at once.
   *
   * Never throws: it rejects with the signal's reason or a `TimeoutError` for a wait given up, and with a `RangeError`
   * or `TypeError` for options that cannot be used.
   *
   * @example
   * ```ts
   * import { Notify } from 'pointsman';
   *
   * const notify = new Notify();
   * notify.notifyOne();
   * notify.notifyOne(); // one is kept already
   * await notify.notified();
   * await notify.notified({ timeout: 0 }).catch((error) => console.log(error.name)); // TimeoutError
   * ```
   */
  notified(options?: WaitOptions): Promise<void> {
    try {
      const request = options === undefined ? options : readRequest(options);
      if (!this.#kept) return request ? this.#queue.insert(request) : this.#queue.append();
      this.#kept = false;
      claim(request?.signal);
      return Promise.resolve();
    } catch (error) {
      return Promise.reject(causeOf(error, this, Notify, 'notified'));
    }
  }

  /** Wakes who has waited longest; if nobody waits, the next who comes need not wait. */
  notifyOne(): void {
    if (!(this instanceof Notify)) throw detached('notifyOne');
    // Whoever is told of a grant may have called this again: what that one keeps stays.
    if (!wakeNext(this.#queue)) this.#kept = true;
  }

  /**
   * Wakes all who wait now. Nothing is kept for those who come later, and a notification that is kept stays.
   *
   * @example
   * ```ts
   * import { Notify } from 'pointsman';
   *
   * const door = new Notify();
   * const guests = Promise.all(['ann', 'bob'].map((guest) => door.notified().then(() => guest)));
   * door.notifyWaiters();
   * console.log(await guests); // [ 'ann', 'bob' ]
   * ```
   */
  notifyWaiters(): void {
    if (!(this instanceof Notify)) throw detached('notifyWaiters');
    const queue = this.#queue;
    // Who comes while they are woken waits for the next time.
    if (!queue.plain) this.#queue = new WaitQueue(this.#label);
    queue.resolveAll();
  }
}

/** @internal Wakes who has waited longest, and says whether there was anybody. */
export function wakeNext(queue: WaitQueue<void>): boolean {
  const { next } = queue;
  if (next) queue.grant(undefined, next);
  return next !== undefined;
}
