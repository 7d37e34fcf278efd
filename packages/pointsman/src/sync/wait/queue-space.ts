/**
 * Back-pressure: callers wait here until a bounded queue has space for a request.
 *
 * Invariant: callers are resolved in FIFO order, and never more of them than there is space for. A space is kept for a
 * resolved caller until a request is made, or until its `await` has continued without one.
 */

import { WaitQueue, type WaitRequest } from './queue.js';

/** How many microtasks a caller gets to make its request: its `await` may stand in a few nested async functions. */
const HOPS = 8;

/** @internal */
export class QueueSpace {
  readonly #callers: WaitQueue<void>;
  readonly #left: () => number;
  readonly #requests: () => number;
  #resolved = 0;
  /** The number of resolved callers for which no space is kept any more. */
  #done = 0;
  /** The number of requests when `#done` was last updated. */
  #seen = 0;

  /**
   * `left`: the number of requests for which there is space now. `requests`: the number of requests made so far,
   * including the refused ones.
   */
  constructor(label: string, left: () => number, requests: () => number) {
    this.#callers = new WaitQueue(label);
    this.#left = left;
    this.#requests = requests;
  }

  /** The number of callers that wait. */
  get length(): number {
    return this.#callers.length;
  }

  /** Waits until there is space. Resolves at once, also if the timeout is 0, if there is space now. */
  async wait(request: WaitRequest): Promise<void> {
    if (this.#callers.length === 0 && this.#hasSpace) this.#keep();
    else await this.#callers.insert(request);
  }

  /** Called when there may be new space. */
  changed(): void {
    while (this.#callers.next && this.#hasSpace) {
      this.#keep();
      this.#callers.grant();
    }
  }

  close(reason: unknown): void {
    this.#callers.rejectAll(reason);
  }

  get #hasSpace(): boolean {
    return this.#left() > this.#kept;
  }

  /** The number of callers for which a space is kept. A request uses the space of the first of them. */
  get #kept(): number {
    const requests = this.#requests();
    this.#done = Math.min(this.#resolved, this.#done + requests - this.#seen);
    this.#seen = requests;
    return this.#resolved - this.#done;
  }

  /** Keeps a space until the caller has had the time to make its request. */
  async #keep(): Promise<void> {
    const caller = ++this.#resolved;
    for (let hop = 0; hop < HOPS; hop++) await null;
    this.#done = Math.max(caller, this.#resolved - this.#kept);
    this.changed();
  }
}
