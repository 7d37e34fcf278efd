/**
 * Whoever waits for room in a pool's queue.
 *
 * Invariant: who has waited longest is told first, and no more are told than there is room for. Until it
 * has had its turn of the event loop, the room is its own.
 */

import { TimeoutError } from '../sync/errors.js';
import { giveUpOn } from '../sync/give-up.js';
import type { WaitOptions } from '../sync/options.js';
import { soon } from '../transport/event-loop.js';

interface Waiter {
  resolve(): void;
  reject(error: unknown): void;
}

export class Room {
  readonly #left: () => number;
  readonly #timedOut: (timeout: number) => TimeoutError;
  readonly #waiters = new Set<Waiter>();
  /** Of those that waited, how many were told and may come now. */
  #invited = 0;

  /** `left`: how many more tasks may come. `label`: what errors begin with. */
  constructor(left: () => number, label: string) {
    this.#left = left;
    this.#timedOut = (timeout) =>
      new TimeoutError(`${label}there was no room within ${timeout} ms`);
  }

  async wait(options: WaitOptions): Promise<void> {
    if (this.#left() > this.#invited && this.#waiters.size === 0) return;
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
    for (let left = this.#left() - this.#invited; left > 0; left--) {
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
