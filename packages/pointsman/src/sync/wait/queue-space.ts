/**
 * Back-pressure: callers wait here until a bounded queue has space for a request.
 *
 * Invariant: callers are resolved in FIFO order, and never more of them than there is space for. The space of a resolved
 * caller is reserved until the next request is made or its `await` has continued; no other caller gets it meanwhile.
 */

import { WaitQueue, type WaitRequest } from './queue.js';

/** Microtasks until the `await` of a resolved caller has continued, even through a few nested async functions. */
const MICROTASKS = 8;

/** @internal */
export class QueueSpace {
  readonly #callers: WaitQueue<void>;
  readonly #left: () => number;
  readonly #requests: () => number;
  #resolved = 0;
  /** The number of resolved callers whose reservation is over. */
  #over = 0;
  /** The number of requests when `#over` was last updated. */
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

  /** Waits until there is space. Returns `undefined` if there is space now, also if the timeout is 0. */
  wait(request: WaitRequest): Promise<void> | undefined {
    if (this.#callers.length > 0 || !this.#hasSpace()) return this.#callers.insert(request);
    this.#reserve();
    return undefined;
  }

  /** Called when there may be new space. */
  changed(): void {
    while (this.#callers.next && this.#hasSpace()) {
      this.#reserve();
      this.#callers.grant();
    }
  }

  close(reason: unknown): void {
    this.#callers.rejectAll(reason);
  }

  #hasSpace(): boolean {
    return this.#left() > this.#reserved();
  }

  /** The number of reserved spaces. Each request ends the oldest reservation. */
  #reserved(): number {
    const requests = this.#requests();
    this.#over = Math.min(this.#resolved, this.#over + requests - this.#seen);
    this.#seen = requests;
    return this.#resolved - this.#over;
  }

  /** Reserves a space for a caller that is resolved now. */
  async #reserve(): Promise<void> {
    const caller = ++this.#resolved;
    for (let n = 0; n < MICROTASKS; n++) await null;
    this.#over = Math.max(caller, this.#resolved - this.#reserved());
    this.changed();
  }
}
