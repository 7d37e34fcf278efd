/**
 * Back-pressure: callers wait here until the pool's queue has space.
 *
 * Invariant: callers are resolved in FIFO order, at most as many as there is space for. The space of a resolved
 * caller is not offered to another one until the next turn of the event loop.
 */

import { QueueFullError, TimeoutError } from '../sync/errors.js';
import type { WaitOptions } from '../sync/options.js';
import { soon } from '../transport/event-loop.js';
import { Waiters } from './waiters.js';

export class QueueSpace {
  /** Maximum number of tasks that wait. */
  readonly #max: number;
  readonly #waiting: () => number;
  readonly #label: string;
  readonly #waiters = new Waiters();
  /** The number of callers resolved in this turn, which may now run a task. */
  #invited = 0;

  /**
   * `waiting`: the number of waiting tasks minus those that can begin; negative if more could begin. `label`: the prefix
   * of error messages.
   */
  constructor(max = Number.POSITIVE_INFINITY, waiting: () => number, label: string) {
    this.#max = max;
    this.#waiting = waiting;
    this.#label = label;
  }

  /** The number of tasks for which there is space. */
  get #left(): number {
    return this.#max === Number.POSITIVE_INFINITY ? this.#max : this.#max - this.#waiting();
  }

  get isFull(): boolean {
    return this.#left <= 0;
  }

  refusal(): QueueFullError {
    return new QueueFullError(`${this.#label}the queue is full: ${this.#max} tasks may wait`);
  }

  async wait(options: WaitOptions): Promise<void> {
    if (this.#left > this.#invited && this.#waiters.size === 0) return;
    await this.#waiters.wait(
      options,
      (timeout) =>
        new TimeoutError(`${this.#label}the queue has had no space within ${timeout} ms`),
    );
  }

  /** Called when there may be new space. */
  changed(): void {
    if (this.#waiters.size === 0) return;
    for (let left = this.#left - this.#invited; left > 0 && this.#waiters.tellFirst(); left--) {
      this.#invited++;
      soon(() => {
        this.#invited--;
        this.changed();
      });
    }
  }

  close(reason: unknown): void {
    this.#waiters.reject(reason);
  }
}
