/**
 * The inline functions that one worker has received.
 *
 * Invariant: bounded, so that a program that makes ever more inline functions does not grow.
 */

import type { Inline } from './inline.js';
import type { Definition } from './protocol.js';
import type { AnyFunction } from './types.js';

const MAX = 256;

export class Definitions {
  readonly #ids = new Set<number>();
  readonly #send: (id: number, definition: Definition) => void;

  constructor(send: (id: number, definition: Definition) => void) {
    this.#send = send;
  }

  /** Sends a function that the worker does not have. */
  add({ id, source, names, values }: Inline<AnyFunction>): void {
    if (this.#ids.has(id)) return;
    const clear = this.#ids.size === MAX;
    // If this throws, the worker keeps its definitions.
    this.#send(id, { source, names, values, clear });
    if (clear) this.#ids.clear();
    this.#ids.add(id);
  }
}
