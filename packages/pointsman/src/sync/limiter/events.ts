/** Who is told what: the listeners of a limiter's events. */

import { invalid } from '../errors.js';
import { checkFunction, type LimiterEvents } from './options.js';

type Tell = (detail: never) => void;

const events = ['started', 'finished', 'failed', 'dropped', 'empty', 'idle'];

export class Listeners {
  readonly #told = new Map<string, Set<Tell>>();

  /** For how many events there are any. */
  get size(): number {
    return this.#told.size;
  }

  /** Adds one, and answers with a function that takes it away again. */
  add(event: string, listener: Tell): () => void {
    if (!events.includes(event)) throw invalid('event', event, events.join(' or '));
    checkFunction('listener', listener);
    const told = this.#told.get(event) ?? new Set();
    // A function of its own, so that who listens twice can stop twice.
    const tell = (detail: never) => listener(detail);
    this.#told.set(event, told.add(tell));
    return () => {
      if (told.delete(tell) && told.size === 0) this.#told.delete(event);
    };
  }

  tell(event: keyof LimiterEvents, key?: unknown, error?: unknown): void {
    for (const tell of this.#told.get(event) ?? []) {
      try {
        tell({ key, error } as never);
      } catch (thrown) {
        // Reported as the platform reports what a listener throws.
        queueMicrotask(() => {
          throw thrown;
        });
      }
    }
  }
}
