/**
 * Back-pressure: callers wait here until the pool's queue has space.
 *
 * Invariant: callers are told in the order in which they came, and no more of them than there is space for. Until
 * a caller has had its turn of the event loop, its space is not promised to another one.
 */

import { QueueFullError, TimeoutError } from '../sync/errors.js';
import type { WaitOptions } from '../sync/options.js';
import { soon } from '../transport/event-loop.js';
import { Waiters } from './waiters.js';

export class QueueSpace {
  /** How many tasks may wait. */
  readonly #max: number;
  readonly #waiting: () => number;
  readonly #label: string;
  readonly #waiters = new Waiters();
  /** How many callers were told in this turn, and may come now. */
  #invited = 0;

  /**
   * `waiting`: how many tasks wait beyond those that can begin; negative if more could. `label`: what errors begin
   * with.
   */
  constructor(max = Number.POSITIVE_INFINITY, waiting: () => number, label: string) {
    this.#max = max;
    this.#waiting = waiting;
    this.#label = label;
  }

  /** How many more tasks may come. */
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

  /** There may be space. */
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
