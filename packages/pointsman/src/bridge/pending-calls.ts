/**
 * The calls of one side that wait for an answer without blocking, by number.
 *
 * Invariant: each call is settled once: by its answer, by its signal or timeout, or by the end of the bridge.
 */

import { giveUpOn } from '../sync/give-up.js';
import type { CallOptions } from '../transport/call-options.js';
import { timedOut } from '../transport/outcome.js';

interface Pending {
  readonly name: string;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  /** Stops watching its signal and its timeout, if it has any. */
  readonly stop: (() => void) | undefined;
}

export class PendingCalls {
  readonly #calls = new Map<number, Pending>();
  readonly #givenUp: (id: number) => void;

  /** `givenUp`: nobody waits for call `id` any more. */
  constructor(givenUp: (id: number) => void) {
    this.#givenUp = givenUp;
  }

  get size(): number {
    return this.#calls.size;
  }

  has(id: number): boolean {
    return this.#calls.has(id);
  }

  add(
    id: number,
    name: string,
    options: CallOptions | undefined,
    resolve: Pending['resolve'],
    reject: Pending['reject'],
  ): void {
    const isLimited = options?.signal !== undefined || options?.timeout !== undefined;
    const stop = isLimited
      ? giveUpOn(
          options,
          (reason) => {
            this.#calls.delete(id);
            this.#givenUp(id);
            reject(reason);
          },
          (timeout) => timedOut(name, timeout),
        )
      : undefined;
    this.#calls.set(id, { name, resolve, reject, stop });
  }

  /** An answer has come. One that nobody waits for is dropped. */
  settle(id: number, value: unknown, failed: boolean): void {
    const pending = this.#calls.get(id);
    if (pending === undefined) return;
    this.#calls.delete(id);
    pending.stop?.();
    if (failed) pending.reject(value);
    else pending.resolve(value);
  }

  /** There will be no answers. */
  rejectAll(error: (name: string) => Error): void {
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const { name, reject, stop } of calls) {
      stop?.();
      reject(error(name));
    }
  }
}
