/**
 * Messages of a port in batches: what is sent in one turn of the event loop travels together.
 *
 * Invariants:
 * - Records arrive in the order in which they were sent.
 * - A record that cannot be cloned harms no other: it is handed back, and the others are sent.
 *
 * A batch is one flat array, {@link STRIDE} entries for each record: structured clone takes about as long
 * for an object around each of them as for what is in it.
 */

import type { Transferable } from './transfer.js';

/** Entries of a record: its kind, its number, and three values. */
export const STRIDE = 5;

/** What a record has besides its entries. */
export interface Attachment {
  readonly transfer: readonly Transferable[];
  /** The references that it counts. */
  readonly passed: readonly number[];
}

export type Post = (records: unknown[], transfer: Transferable[]) => void;
type Refused = (record: unknown[], attachment: Attachment | undefined, error: unknown) => void;

export class Batches {
  readonly #post: Post;
  readonly #refused: Refused;
  #records: unknown[] = [];
  /** By the index of the record's first entry. */
  #attachments = new Map<number, Attachment>();
  #isDue = false;

  /** `post` posts a message, and throws if it cannot be cloned. `refused` is told of records that cannot. */
  constructor(post: Post, refused: Refused) {
    this.#post = post;
    this.#refused = refused;
  }

  /** Adds a record, which is sent at the end of this turn's microtasks. */
  add(kind: number, id: number, a: unknown, b: unknown, c: unknown, attachment?: Attachment): void {
    if (attachment) this.#attachments.set(this.#records.length, attachment);
    this.#records.push(kind, id, a, b, c);
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(this.#due);
  }

  readonly #due = (): void => {
    this.#isDue = false;
    this.flush();
  };

  /** Sends now what was added. */
  flush(): void {
    const records = this.#records;
    if (records.length === 0) return;
    const attachments = this.#attachments;
    this.#records = [];
    if (attachments.size > 0) this.#attachments = new Map();
    try {
      this.#post(
        records,
        [...attachments.values()].flatMap(({ transfer }) => transfer),
      );
    } catch {
      for (let at = 0; at < records.length; at += STRIDE) {
        this.#postAlone(records.slice(at, at + STRIDE), attachments.get(at));
      }
      // What is said instead of them must not wait longer.
      this.flush();
    }
  }

  #postAlone(record: unknown[], attachment: Attachment | undefined): void {
    try {
      this.#post(record, [...(attachment?.transfer ?? [])]);
    } catch (error) {
      this.#refused(record, attachment, error);
    }
  }
}
