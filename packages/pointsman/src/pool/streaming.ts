/**
 * The worker's end of a task's iterator. Calls `over` when the iteration has ended and the reader knows.
 *
 * Invariants:
 * - The source runs one step at a time. Readers request ahead; when they leave, requested steps that have not begun
 *   do not run.
 * - No value waits for the next one to be computed.
 */

import { soon } from '../transport/event-loop.js';
import type { AnyIterator } from '../transport/references.js';

type Step = IteratorResult<unknown, unknown>;

const end: Step = { done: true, value: undefined };

export class Streaming implements AsyncIterator<unknown> {
  readonly #source: AnyIterator;
  readonly #over: () => void;
  /** Returns the error that the reader receives for an error of the source. */
  readonly #errorOf: (error: unknown) => unknown;
  /** The last requested step. */
  #last: Promise<unknown> = Promise.resolve();
  #isLeft = false;
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  /** Rejects the running step. */
  #failStep: (error: unknown) => void = () => {};

  constructor(source: AnyIterator, over: () => void, errorOf: (error: unknown) => unknown) {
    this.#source = source;
    this.#over = over;
    this.#errorOf = errorOf;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(value?: unknown): Promise<Step> {
    return this.#step(() => this.#source.next(value), 'unless left');
  }

  return(value?: unknown): Promise<Step> {
    this.#isLeft = true;
    return this.#step(() => this.#source.return?.(value) ?? { done: true, value });
  }

  /** Ends the iteration with an uncaught error of the thread; the reader receives it. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#failStep(error);
  }

  #step(step: () => Step | Promise<Step>, when?: 'unless left'): Promise<Step> {
    const result = this.#last.then(async () => {
      try {
        if (this.#failure) throw this.#failure.error;
        if (this.#isOver || (when === 'unless left' && this.#isLeft)) return end;
        const failed = new Promise<never>((_, reject) => {
          this.#failStep = reject;
        });
        const { done, value } = await Promise.race([step(), failed]);
        if (done) this.#end();
        return { done: done === true, value: await value };
      } catch (error) {
        throw this.#errorOf(error);
      }
    });
    // The next step begins after this value has been sent: the step may take long, or never end.
    this.#last = result.catch(() => this.#end()).then(() => new Promise<void>(soon));
    return result;
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // After the steps that were requested ahead have been answered.
    soon(this.#over);
  }
}
