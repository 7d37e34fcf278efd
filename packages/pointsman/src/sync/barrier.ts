/**
 * A barrier: `size` tasks wait for each other, then all continue and the next generation begins.
 *
 * Invariant: fewer than `size` tasks wait. Each generation has its own queue, so a task that arrives while one
 * generation is released belongs to the next.
 */

import { checkInteger, checkNotOptions, detached } from './errors.js';
import type { WaitOptions } from './options.js';
import { filter } from './wait/chunked-list.js';
import { isOver, winContest } from './wait/give-up.js';
import { type NameOptions, readLabel, readWait, WaitQueue } from './wait/queue.js';

/** What {@link Barrier.wait} resolves to. */
export interface BarrierWaitResult {
  /** Whether this task arrived last of its generation. */
  readonly isLeader: boolean;
}

/**
 * Lets `size` tasks wait for each other, again and again. The semantics are those of Tokio's `Barrier`; a task that gives
 * up does not count.
 *
 * @example
 * ```ts
 * import { Barrier } from 'pointsman';
 *
 * const barrier = new Barrier(3);
 *
 * async function work(name: string): Promise<string> {
 *   const { isLeader } = await barrier.wait();
 *   return isLeader ? `${name} leads` : name;
 * }
 *
 * console.log(await Promise.all(['a', 'b', 'c'].map(work))); // [ 'a', 'b', 'c leads' ]
 * ```
 */
export class Barrier {
  /** The number of tasks that wait for each other. */
  readonly size: number;
  readonly #label: string;
  #queue: WaitQueue<BarrierWaitResult>;

  /**
   * @param size The number of tasks: an integer >= 1.
   */
  constructor(size: number, options?: NameOptions) {
    checkNotOptions('Barrier', 'size', size);
    checkInteger('size', size, 1);
    this.#label = readLabel(options);
    this.#queue = new WaitQueue(this.#label);
    this.size = size;
  }

  /** The number of tasks that wait for the others. */
  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * Waits until `size` tasks have arrived, this one among them. The last one is the leader and does not wait.
   *
   * Never throws; rejects with the signal's reason or a `TimeoutError`, and then does not count as arrived; or with a
   * `RangeError` or `TypeError` for invalid options.
   */
  async wait(options?: WaitOptions): Promise<BarrierWaitResult> {
    if (!(this instanceof Barrier)) throw detached('wait');
    const request = readWait(options);
    const queue = this.#queue;
    if (queue.length + 1 >= this.size) {
      for (const waiter of filter(queue._list, ({ signal }) => isOver(signal))) {
        queue.reject(waiter.signal?.reason, waiter);
      }
    }
    // `await` handles a rejection in this step; workerd reports it otherwise.
    if (queue.length + 1 < this.size) return await queue.insert(request);
    this.#queue = new WaitQueue(this.#label);
    queue.resolveAll({ isLeader: false });
    winContest(request.signal);
    return { isLeader: true };
  }
}
