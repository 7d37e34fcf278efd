/** The records of a journal: a change of the namespace, and when it was made. */

import type { Batch } from '../shared/protocol/protocol.js';
import type { Change } from './namespace.js';
import type { Identity } from './processes.js';

const KINDS = ['batch', 'came', 'gone'] as const;
/** The length of what follows, the kind, and microseconds on the namespace's clock. */
const HEAD = 4 + 1 + 8;

/** The text of a change in its record. That of a batch is as its client has sent it. */
export const textOf = (change: Change): string => {
  switch (change.kind) {
    case 'batch':
      return JSON.stringify(change.batch);
    case 'came':
      return JSON.stringify([change.client, change.identity]);
    case 'gone':
      return change.client;
  }
};

/** Puts the records of one turn together. */
export class RecordWriter {
  #bytes = Buffer.allocUnsafe(4_096);
  #size = 0;

  add(kind: Change['kind'], now: number, text: string | Buffer): void {
    const size = typeof text === 'string' ? Buffer.byteLength(text) : text.length;
    const at = this.#size;
    this.#size += HEAD + size;
    if (this.#size > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(2 * this.#size);
      this.#bytes.copy(larger, 0, 0, at);
      this.#bytes = larger;
    }
    this.#bytes.writeUInt32LE(HEAD - 4 + size, at);
    this.#bytes[at + 4] = KINDS.indexOf(kind);
    this.#bytes.writeDoubleLE(now, at + 5);
    if (typeof text === 'string') this.#bytes.write(text, at + HEAD);
    else text.copy(this.#bytes, at + HEAD);
  }

  /** Returns the bytes, which are valid until the next `add`. */
  take(): Buffer {
    const bytes = this.#bytes.subarray(0, this.#size);
    this.#size = 0;
    return bytes;
  }
}

/** Reads a record without its length. */
export function readRecord(record: Buffer): { now: number; change: Change } {
  const kind = KINDS[record[0] as number];
  const now = record.readDoubleLE(1);
  const text = record.toString('utf8', 9);
  if (kind === 'batch') return { now, change: { kind, batch: JSON.parse(text) as Batch } };
  if (kind === 'came') {
    const [client, identity] = JSON.parse(text) as [string, Identity];
    return { now, change: { kind, client, identity } };
  }
  return { now, change: { kind: 'gone', client: text } };
}
