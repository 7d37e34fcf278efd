/**
 * Back-pressure: callers wait here until the pool's queue has space.
 *
 * Invariant: callers are resolved in FIFO order, at most as many as there is space for. {@link Reservations} keep the
 * space of a resolved caller from other callers.
 */

import { fullError, timedOut } from '../sync/errors.js';
import type { WaitOptions } from '../sync/options.js';
import { Reservations } from '../sync/wait/reservations.js';
import { Waiters } from './waiters.js';

export class QueueSpace {
  /** The number of tasks that the pool was given so far, counted by the pool. */
  requests = 0;
  /** Maximum number of tasks that wait. */
  readonly #max: number;
  readonly #waiting: () => number;
  readonly #label: string;
  readonly #waiters = new Waiters();
  readonly #reservations = new Reservations(
    () => this.requests,
    () => this.changed(),
  );

  /**
   * `waiting`: the number of waiting tasks minus those that can begin; negative if more could begin. `label`: the prefix
   * of error messages.
   */
  constructor(max = Number.POSITIVE_INFINITY, waiting: () => number, label: string) {
    this.#max = max;
    this.#waiting = waiting;
    this.#label = label;
  }

  /** Whether a task finds space if `reserved` others are run before it. */
  hasSpace(reserved = 0): boolean {
    return this.#max === Number.POSITIVE_INFINITY || this.#waiting() + reserved < this.#max;
  }

  refusal(): Error {
    return fullError(this.#label, this.#max);
  }

  async wait(options: WaitOptions): Promise<void> {
    if (this.#waiters.size === 0 && this.hasSpace(this.#reservations.count)) {
      this.#reservations.add();
    } else {
      await this.#waiters.wait(options, (timeout) => timedOut(timeout, this.#label));
    }
  }

  /** Called when there may be new space. */
  changed(): void {
    if (this.#waiters.size === 0) return;
    while (this.hasSpace(this.#reservations.count) && this.#waiters.tellFirst()) {
      this.#reservations.add();
    }
  }

  close(reason: unknown): void {
    this.#waiters.reject(reason);
  }
}
