/**
 * Which functions written in place one worker has been sent.
 *
 * Invariant: it keeps so many at most. A program that makes ever more of them must not grow.
 */

import type { Inline } from './inline-rebuild.js';
import type { Definition } from './protocol.js';
import type { AnyFunction } from './types.js';

const MOST = 256;

export class Definitions {
  readonly #ids = new Set<number>();
  readonly #send: (id: number, definition: Definition) => void;

  constructor(send: (id: number, definition: Definition) => void) {
    this.#send = send;
  }

  /** Sends a function unless the worker has it. */
  add({ id, source, names, values }: Inline<AnyFunction>): void {
    if (this.#ids.has(id)) return;
    const clear = this.#ids.size === MOST;
    // Throws if it cannot be sent, so that the worker keeps its previous definition.
    this.#send(id, { source, names, values, clear });
    if (clear) this.#ids.clear();
    this.#ids.add(id);
  }
}
