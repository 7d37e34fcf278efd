/**
 * A meeting point: so many must have come before any of them goes on. Then the next so many can meet.
 *
 * Invariant: fewer than `size` are there. Each generation has a queue of its own, so that who comes while one leaves
 * belongs to the next.
 */

import { checkInteger, checkNotOptions, detached } from './errors.js';
import type { WaitOptions } from './options.js';
import { claim, isOver } from './wait/give-up.js';
import {
  type NameOptions,
  readLabel,
  readRequest,
  WaitQueue,
  type WaitRequest,
} from './wait/queue.js';

/** What {@link Barrier.wait} resolves to. */
export interface BarrierWaitResult {
  /** Whether this is the one of its generation that came last. */
  readonly isLeader: boolean;
}

/**
 * Lets nobody go on until `size` have come; then it begins anew. The semantics are those of Tokio's `Barrier`, and who
 * gives up is not counted.
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
  /** How many meet. */
  readonly size: number;
  readonly #label: string;
  #queue: WaitQueue<BarrierWaitResult>;
  /** Those of this generation who have a signal, which may be over before it tells them. */
  #signalled = new Set<WaitRequest>();

  /**
   * @param size How many meet: an integer from 1 on.
   * @throws {RangeError | TypeError} for any other size, and for options that cannot be used.
   */
  constructor(size: number, options?: NameOptions) {
    if (typeof size === 'object') checkNotOptions('Barrier', 'size', size);
    checkInteger('size', size, 1);
    this.#label = readLabel(options);
    this.#queue = new WaitQueue(this.#label);
    this.size = size;
  }

  /** How many are there and wait for the others. */
  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * Waits until `size` have come, itself among them. Who comes last leads, and goes on at once.
   *
   * Never throws: it rejects with the signal's reason or a `TimeoutError` for a wait given up, and then it has not
   * come; with a `RangeError` or `TypeError` for options that cannot be used.
   */
  async wait(options?: WaitOptions): Promise<BarrierWaitResult> {
    if (!(this instanceof Barrier)) throw detached('wait');
    const request = readRequest(options);
    const queue = this.#queue;
    const signalled = this.#signalled;
    if (queue.length + 1 >= this.size) {
      for (const waiter of signalled) {
        if (!isOver(waiter.signal)) continue;
        signalled.delete(waiter);
        queue.reject(waiter.signal?.reason, waiter);
      }
    }
    if (queue.length + 1 < this.size) {
      const met = queue.insert(request, () => signalled.delete(request));
      // Not if it was refused at once.
      if (request.signal && request.chunk !== undefined) signalled.add(request);
      return met;
    }
    this.#queue = new WaitQueue(this.#label);
    this.#signalled = new Set();
    queue.resolveAll({ isLeader: false });
    claim(request.signal);
    return { isLeader: true };
  }
}
