/**
 * What a task gives one after the other, as whoever has run it iterates over it.
 *
 * Invariant: a few values are asked for ahead, and no more until one was taken, so a fast task waits for
 * a slow reader. What was asked for and comes late is dropped when the reader leaves.
 */

import { isRemoteIterable } from '../transport/references.js';
import type { RemoteIterable } from '../transport/types.js';

/** Values on their way hide the way; a reader that stops has had so many made for nothing at most. */
const AHEAD = 8;

type Step = IteratorResult<unknown, unknown>;

export function isStream(value: unknown): value is RemoteIterable<unknown> {
  return typeof value === 'object' && value !== null && isRemoteIterable(value);
}

export class Stream implements AsyncIterableIterator<unknown> {
  readonly #source: RemoteIterable<unknown>;
  readonly #steps: Promise<Step>[] = [];
  /** Whoever waits for a value. */
  readonly #waiting = new Set<(error: unknown) => void>();
  #failure: { readonly error: unknown } | undefined;
  #over = false;
  #isSourceOver = false;

  constructor(source: RemoteIterable<unknown>) {
    this.#source = source;
  }

  /** It is over: its task was aborted, or its thread has ended. */
  fail(error: unknown): void {
    if (this.#over || this.#failure) return;
    this.#failure = { error };
    for (const reject of this.#waiting) reject(error);
    this.#waiting.clear();
    // A generator that waits for its reader cannot see that it shall stop.
    this.#leave().catch(() => {});
  }

  async next(): Promise<Step> {
    if (this.#over) return { done: true, value: undefined };
    if (this.#failure === undefined) {
      while (this.#steps.length < AHEAD) {
        const step = this.#source.next();
        // It may be dropped.
        step.catch(() => {});
        this.#steps.push(step);
      }
    }
    try {
      const step = await this.#unlessFailed(this.#steps.shift());
      if (step.done) this.#over = true;
      return step;
    } catch (error) {
      this.#over = true;
      // A value that cannot be cloned is no reason for the source to stop; its reader does not come back.
      if (this.#failure === undefined) this.#leave().catch(() => {});
      throw error;
    }
  }

  /** The source has come to its end: there is nothing to leave any more. */
  ended(): void {
    this.#isSourceOver = true;
  }

  async #leave(): Promise<void> {
    if (!this.#isSourceOver) await this.#source.return?.(undefined);
  }

  #unlessFailed(step: Promise<Step> | undefined): Promise<Step> {
    if (this.#failure || step === undefined) return Promise.reject(this.#failure?.error);
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject);
      const settled = () => this.#waiting.delete(reject);
      step.then(
        (value) => {
          settled();
          resolve(value);
        },
        (error) => {
          settled();
          // Which of the two it learns of first is a matter of luck.
          reject(this.#failure ? this.#failure.error : error);
        },
      );
    });
  }

  async return(value?: unknown): Promise<Step> {
    if (!this.#over) {
      this.#over = true;
      if (this.#failure === undefined) await this.#leave();
    }
    return { done: true, value };
  }

  async throw(error?: unknown): Promise<Step> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
