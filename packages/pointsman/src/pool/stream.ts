/**
 * The caller's end of a task's iterator.
 *
 * Invariant: at most {@link AHEAD} values are requested ahead of the reader, so a fast task waits for a slow reader.
 * Values that arrive after the reader has left are dropped.
 */

import { isRemoteIterable } from '../transport/references.js';
import type { RemoteIterable } from '../transport/types.js';

/** Requested values hide the latency of messages; a reader that leaves wastes at most this many. */
const AHEAD = 8;

type Step = IteratorResult<unknown, unknown>;

export function isStream(value: unknown): value is RemoteIterable<unknown> {
  return typeof value === 'object' && value !== null && isRemoteIterable(value);
}

export class Stream implements AsyncIterableIterator<unknown> {
  readonly #source: RemoteIterable<unknown>;
  readonly #steps: Promise<Step>[] = [];
  /** The rejections of pending `next` calls. */
  readonly #waiting = new Set<(error: unknown) => void>();
  #failure: { readonly error: unknown } | undefined;
  #over = false;
  #isSourceOver = false;

  constructor(source: RemoteIterable<unknown>) {
    this.#source = source;
  }

  /** Ends the stream with an error: its task was aborted, or its thread ended. */
  fail(error: unknown): void {
    if (this.#over || this.#failure) return;
    this.#failure = { error };
    for (const reject of this.#waiting) reject(error);
    this.#waiting.clear();
    // A generator that is suspended at a yield cannot see the abort.
    this.#leave().catch(() => {});
  }

  async next(): Promise<Step> {
    if (this.#over) return { done: true, value: undefined };
    if (this.#failure === undefined) {
      while (this.#steps.length < AHEAD) {
        const step = this.#source.next();
        // The step may be dropped; its rejection must not count as unhandled.
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
      // A value that cannot be cloned does not end the source, but this reader does not continue.
      if (this.#failure === undefined) this.#leave().catch(() => {});
      throw error;
    }
  }

  /** Called when the source has finished and need not be returned. */
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
          // The failure may be noticed before or after this rejection: it always wins.
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
