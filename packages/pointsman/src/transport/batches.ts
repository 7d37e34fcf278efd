/**
 * Messages of a port in batches: the records of one turn of the event loop travel in one message.
 *
 * Invariants:
 * - Records arrive in the order in which they were added.
 * - No two records of a batch refer to the same object, and no other code has a reference to their objects.
 *   Structured clone preserves identity within a message, so a shared object would arrive as one object in both.
 *
 * A batch is one flat array with {@link STRIDE} entries per record. An object per record would double the time that
 * structured clone takes.
 */

import { nextMicrotask } from '../sync/wait/give-up.js';
import type { Transferable } from './transfer.js';

/** Entries of a record: its kind, its number, and three values. */
export const STRIDE = 5;

export type Post = (records: unknown[], transfer: Transferable[]) => void;

export class Batches {
  readonly #post: Post;
  #records: unknown[] = [];
  #isDue = false;

  constructor(post: Post) {
    this.#post = post;
  }

  /** Adds a record, to be sent in a microtask. It must be cloneable, and no other code may refer to its objects. */
  add(kind: number, id: number, a: unknown, b: unknown, c: unknown): void {
    this.#records.push(kind, id, a, b, c);
    if (this.#isDue) return;
    this.#isDue = true;
    nextMicrotask.then(this.#due);
  }

  readonly #due = (): void => {
    this.#isDue = false;
    this.flush();
  };

  /** Sends the added records now. */
  flush(): void {
    const records = this.#records;
    if (records.length === 0) return;
    this.#records = [];
    this.#post(records, []);
  }

  /** Sends a record now, in a message of its own, after the added records. Throws if it cannot be cloned. */
  sendAlone(record: unknown[], transfer: readonly Transferable[]): void {
    this.flush();
    this.#post(record, [...transfer]);
  }
}
