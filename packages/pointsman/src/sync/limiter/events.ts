/** Who is told what: the listeners of a limiter's events. */

import { checkFunction, checkOneOf } from '../errors.js';
import { callAll } from '../wait/give-up.js';
import type { LimiterEvents } from './options.js';

type Tell = (detail: object) => void;

const events = ['started', 'finished', 'failed', 'dropped', 'empty', 'idle'];

export class Listeners {
  readonly #told = new Map<string, Set<Tell>>();

  /** For how many events there are any. */
  get size(): number {
    return this.#told.size;
  }

  /** Adds one, and answers with a function that takes it away again. */
  add(event: string, listener: (detail: never) => void): () => void {
    checkOneOf('event', event, events);
    checkFunction('listener', listener);
    const told = this.#told.get(event) ?? new Set();
    // A function of its own, so that who listens twice can stop twice.
    const own: Tell = (detail) => listener(detail as never);
    this.#told.set(event, told.add(own));
    return () => {
      if (told.delete(own) && told.size === 0) this.#told.delete(event);
    };
  }

  tell(event: keyof LimiterEvents, key?: unknown, error?: unknown): void {
    const told = this.#told.get(event);
    if (told) callAll(told, { key, error });
  }
}
