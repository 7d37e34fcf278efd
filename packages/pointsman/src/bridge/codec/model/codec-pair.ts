/**
 * An encoder and a decoder with memory between them.
 *
 * Invariant: `read` reads the last message to its end, or throws.
 */

import { Memory } from '../../ring/memory.js';
import { Reader } from '../../ring/reader.js';
import { Writer } from '../../ring/writer.js';
import { Decoder } from '../decoder.js';
import { Encoder } from '../encoder.js';
import type { ValueReferences } from '../value.js';

export const noReferences: ValueReferences = {
  numberOf: () => -1,
  numberByMessage: () => -1,
  valueOf: (number) => {
    throw new Error(`there is no reference ${number}`);
  },
};

export interface Region {
  readonly buffer: ArrayBufferLike;
  readonly start: number;
  readonly end: number;
}

/** Returns a region of shared memory, or of an `ArrayBuffer` where memory cannot be shared. */
export function shared(bytes: number): Region {
  const Buffer = globalThis.SharedArrayBuffer ?? ArrayBuffer;
  return { buffer: new Buffer(bytes), start: 0, end: bytes };
}

export class CodecPair {
  readonly writer: Writer;
  readonly reader = new Reader();
  readonly encoder: Encoder;
  readonly decoder: Decoder;
  readonly #region: Region;
  readonly #memory: Memory;

  constructor(references = noReferences, region = shared(1 << 16), limit = 1 << 26) {
    this.encoder = new Encoder(references);
    this.decoder = new Decoder(references);
    this.#region = region;
    this.#memory = new Memory(region.buffer);
    this.writer = new Writer(limit);
  }

  /** Writes the values as one message. */
  write(...values: unknown[]): void {
    this.writer.open(this.#memory, this.#region.start, this.#region.end);
    for (const value of values) this.encoder.encode(this.writer, value);
  }

  /** Reads `count` values of the last message. */
  read(count = 1): unknown[] {
    const { memory, start, position } = this.writer;
    this.reader.open(memory, start, position);
    const values: unknown[] = [];
    for (let index = 0; index < count; index += 1) {
      values.push(this.decoder.decode(this.reader));
    }
    if (this.reader.position !== position) throw new Error('the message is not read to its end');
    return values;
  }

  /** Encodes and decodes a value. */
  roundTrip<Value>(value: Value): Value {
    this.write(value);
    return this.read()[0] as Value;
  }
}

/** Describes the object graph of a value: its objects in the order of the visit, with their contents by number. */
export function graphOf(root: unknown): unknown[] {
  const numbers = new Map<object, number>();
  const lines: unknown[] = [];
  const name = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    const before = numbers.get(value);
    if (before !== undefined) return `#${before}`;
    const number = numbers.size;
    numbers.set(value, number);
    const line: unknown[] = [Object.prototype.toString.call(value)];
    lines.push(line);
    if (value instanceof Map) for (const [key, item] of value) line.push([name(key), name(item)]);
    else if (value instanceof Set) for (const item of value) line.push(name(item));
    else for (const [key, item] of Object.entries(value)) line.push([key, name(item)]);
    return `#${number}`;
  };
  lines.push(name(root));
  return lines;
}
