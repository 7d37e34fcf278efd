/**
 * The room in a pool's queue, and whoever waits for it.
 *
 * Invariant: who has waited longest is told first, and no more are told than there is room for. Until it
 * has had its turn of the event loop, the room is its own.
 */

import { QueueFullError, TimeoutError } from '../sync/errors.js';
import { giveUpOn } from '../sync/give-up.js';
import type { WaitOptions } from '../sync/options.js';
import { soon } from '../transport/event-loop.js';

interface Waiter {
  resolve(): void;
  reject(error: unknown): void;
}

export class Room {
  /** How many may wait. */
  readonly #most: number;
  readonly #waiting: () => number;
  readonly #label: string;
  readonly #timedOut: (timeout: number) => TimeoutError;
  readonly #waiters = new Set<Waiter>();
  /** Of those that waited, how many were told and may come now. */
  #invited = 0;

  /** `waiting`: how many wait more than can begin; negative if more can. `label`: what errors begin with. */
  constructor(most = Number.POSITIVE_INFINITY, waiting: () => number, label: string) {
    this.#most = most;
    this.#waiting = waiting;
    this.#label = label;
    this.#timedOut = (timeout) =>
      new TimeoutError(`${label}there was no room within ${timeout} ms`);
  }

  /** How many more tasks may come. */
  get #left(): number {
    return this.#most === Number.POSITIVE_INFINITY ? this.#most : this.#most - this.#waiting();
  }

  get isFull(): boolean {
    return this.#left <= 0;
  }

  refusal(): QueueFullError {
    return new QueueFullError(`${this.#label}the queue is full: ${this.#most} tasks may wait`);
  }

  async wait(options: WaitOptions): Promise<void> {
    if (this.#left > this.#invited && this.#waiters.size === 0) return;
    if (options.timeout === 0) throw this.#timedOut(0);
    await new Promise<void>((resolve, reject) => {
      const stop = giveUpOn(
        options,
        (reason) => {
          this.#waiters.delete(waiter);
          reject(reason);
        },
        this.#timedOut,
      );
      const waiter: Waiter = {
        resolve() {
          stop();
          resolve();
        },
        reject(error) {
          stop();
          reject(error);
        },
      };
      this.#waiters.add(waiter);
    });
  }

  /** There may be room. */
  changed(): void {
    if (this.#waiters.size === 0) return;
    for (let left = this.#left - this.#invited; left > 0; left--) {
      const [next] = this.#waiters;
      if (next === undefined) return;
      this.#waiters.delete(next);
      this.#invited++;
      soon(() => {
        this.#invited--;
        this.changed();
      });
      next.resolve();
    }
  }

  close(reason: unknown): void {
    for (const waiter of this.#waiters) waiter.reject(reason);
    this.#waiters.clear();
  }
}
