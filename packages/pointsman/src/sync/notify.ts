/**
 * Notifications without data: wakes one waiter, or all.
 *
 * Invariant: while a notification is kept, there are no waiters.
 */

import { causeOf, detached } from './errors.js';
import type { WaitOptions } from './options.js';
import { winContest } from './wait/give-up.js';
import { type NameOptions, readLabel, readWait, WaitQueue } from './wait/queue.js';

/**
 * Wakes one waiter, or all. Carries no data. The semantics are those of Tokio's `Notify`.
 *
 * - **FIFO.** {@link notifyOne} wakes the waiter that has waited longest.
 * - **At most one is kept.** Without waiters, {@link notifyOne} keeps its notification for the next call of
 *   {@link notified}; {@link notifyWaiters} keeps none.
 * - **None is lost.** A waiter that gives up uses up no notification. A notified one stays notified, also if its signal
 *   aborts in the same step.
 *
 * A wait begins at the call of {@link notified}: check the data between the call and the `await`, and no change is missed.
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

  constructor(options?: NameOptions) {
    this.#label = readLabel(options);
    this.#queue = new WaitQueue(this.#label);
  }

  /** The number of waiters. */
  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * Waits for a notification, or takes the one that is kept. Never throws; rejects with the signal's reason, a
   * `TimeoutError`, or a `RangeError` or `TypeError` for invalid options.
   *
   * @example
   * ```ts
   * import { Notify } from 'pointsman';
   *
   * const notify = new Notify();
   * notify.notifyOne();
   * notify.notifyOne(); // one is already kept
   * await notify.notified();
   * await notify.notified({ timeout: 0 }).catch((error) => console.log(error.name)); // TimeoutError
   * ```
   */
  notified(options?: WaitOptions): Promise<void> {
    try {
      const request = options === undefined ? options : readWait(options);
      const queue = this.#queue;
      if (!this.#kept) return request ? queue.insert(request) : queue.append();
      this.#kept = false;
      winContest(request?.signal);
      return Promise.resolve();
    } catch (error) {
      return Promise.reject(causeOf(error, this, Notify, 'notified'));
    }
  }

  /** Wakes the waiter that has waited longest, or keeps the notification for the next one. */
  notifyOne(): void {
    if (!(this instanceof Notify)) throw detached('notifyOne');
    // A grant may run a listener that calls this again, which may keep a notification.
    if (!wakeNext(this.#queue)) this.#kept = true;
  }

  /**
   * Wakes all current waiters. A kept notification stays.
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
    // A request that arrives while they are woken waits for the next notification.
    if (!queue.plain) this.#queue = new WaitQueue(this.#label);
    queue.resolveAll();
  }
}

/** @internal Wakes the waiter that has waited longest. Returns whether there was one. */
export function wakeNext(queue: WaitQueue<void>): boolean {
  const { next } = queue;
  if (next) queue.grant(undefined, next);
  return next !== undefined;
}
