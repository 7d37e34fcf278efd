/**
 * Callers that wait for an event, in FIFO order.
 *
 * Invariant: a caller leaves exactly once: when it is resolved, is rejected or gives up.
 */

import type { WaitOptions } from '../sync/options.js';
import { giveUpOn, isOver } from '../sync/wait/give-up.js';

interface Waiter {
  readonly signal: AbortSignal | undefined;
  resolve(): void;
  reject(error: unknown): void;
}

export class Waiters {
  readonly #waiters = new Set<Waiter>();

  get size(): number {
    return this.#waiters.size;
  }

  /** Waits until {@link tellFirst} resolves this caller. A `timeout` of 0 rejects at once. */
  async wait(options: WaitOptions, timedOut: (timeout: number) => unknown): Promise<void> {
    if (options.timeout === 0) throw timedOut(0);
    await new Promise<void>((resolve, reject) => {
      const waiter: Waiter = {
        signal: options.signal,
        resolve() {
          stop();
          resolve();
        },
        reject(error) {
          stop();
          reject(error);
        },
      };
      const stop = giveUpOn(
        options,
        (reason) => {
          this.#waiters.delete(waiter);
          reject(reason);
        },
        timedOut,
      );
      this.#waiters.add(waiter);
    });
  }

  /** Resolves the caller that has waited longest; returns whether there was one. */
  tellFirst(): boolean {
    for (const waiter of this.#waiters) {
      // Its signal has aborted; the listener that rejects the caller is about to run.
      if (isOver(waiter.signal)) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
      return true;
    }
    return false;
  }

  reject(error: unknown): void {
    for (const waiter of this.#waiters) waiter.reject(error);
    this.#waiters.clear();
  }
}
