/**
 * Reads the primitives of one message: the counterpart of the writer.
 *
 * Invariant: no byte at or after `end` becomes part of a value. Each length in a message is checked against the
 * remaining bytes before it is used.
 */

import { Memory } from './memory.js';
import { LATIN1, MAX_INLINE, MIN_ALIGNED, UTF8, UTF16 } from './writer.js';

export class CorruptMessageError extends Error {
  override readonly name = 'CorruptMessageError';
}

/** Up to this length, a loop over groups of characters beats a native call, in the lab's row `a 1 kB object`. */
const SHORT = 24;

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const NO_MEMORY = new Memory(new ArrayBuffer(0));

export class Reader {
  memory: Memory = NO_MEMORY;
  u8: Uint8Array = NO_MEMORY.u8;
  f64: Float64Array = NO_MEMORY.f64;
  view: DataView = NO_MEMORY.view;
  position = 0;
  end = 0;

  open(memory: Memory, start: number, end: number): void {
    this.memory = memory;
    this.u8 = memory.u8;
    this.f64 = memory.f64;
    this.view = memory.view;
    this.position = start;
    this.end = end;
  }

  /** Throws unless `bytes` bytes are left. */
  need(bytes: number): void {
    if (this.end - this.position < bytes) {
      throw new CorruptMessageError('the message ends inside a value');
    }
  }

  align(): void {
    this.position = (this.position + 7) & ~7;
  }

  byte(): number {
    this.need(1);
    return this.u8[this.position++] as number;
  }

  varint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value |= (byte & 127) << shift;
      if (byte < 128) return value >>> 0;
    }
    throw new CorruptMessageError('a varint has more than 5 bytes');
  }

  i32(): number {
    this.need(4);
    this.position += 4;
    return this.view.getInt32(this.position - 4, true);
  }

  double(): number {
    this.need(8);
    this.position += 8;
    return this.view.getFloat64(this.position - 8, true);
  }

  bytes(): Uint8Array<ArrayBuffer> {
    const length = this.varint();
    if (length >= MIN_ALIGNED) this.align();
    this.need(length);
    this.position += length;
    return this.u8.slice(this.position - length, this.position) as Uint8Array<ArrayBuffer>;
  }

  string(): string {
    const first = this.byte();
    if (first <= MAX_INLINE) {
      this.need(first);
      this.position += first;
      return this.#narrow(this.position - first, first);
    }
    this.need(4);
    const length = this.view.getUint32(this.position, true);
    const bytes = first === UTF16 ? 2 * length : length;
    this.position += 4;
    if (first === UTF8) this.align();
    this.need(bytes);
    const start = this.position;
    this.position += bytes;
    if (first === LATIN1) return this.#narrow(start, length);
    if (first === UTF16) return this.#wide(start, length);
    if (first === UTF8) {
      return decoder.decode(
        this.memory.encodable
          ? this.u8.subarray(start, this.position)
          : this.u8.slice(start, this.position),
      );
    }
    throw new CorruptMessageError(`unknown string header ${first}`);
  }

  #narrow(start: number, length: number): string {
    const { text } = this.memory;
    if (length > SHORT && text !== undefined) return text.toString('latin1', start, start + length);
    const { u8 } = this;
    const end = start + length;
    let value = '';
    let at = start;
    // All indices are below `end`, so no element is undefined.
    for (; at + 8 <= end; at += 8) {
      value += String.fromCharCode(
        u8[at] as number,
        u8[at + 1] as number,
        u8[at + 2] as number,
        u8[at + 3] as number,
        u8[at + 4] as number,
        u8[at + 5] as number,
        u8[at + 6] as number,
        u8[at + 7] as number,
      );
    }
    if (at + 4 <= end) {
      value += String.fromCharCode(
        u8[at] as number,
        u8[at + 1] as number,
        u8[at + 2] as number,
        u8[at + 3] as number,
      );
      at += 4;
    }
    for (; at < end; at += 1) value += String.fromCharCode(u8[at] as number);
    return value;
  }

  #wide(start: number, length: number): string {
    const { text } = this.memory;
    const end = start + 2 * length;
    if (length > SHORT && text !== undefined) return text.toString('utf16le', start, end);
    const { view } = this;
    let value = '';
    let at = start;
    for (; at + 8 <= end; at += 8) {
      value += String.fromCharCode(
        view.getUint16(at, true),
        view.getUint16(at + 2, true),
        view.getUint16(at + 4, true),
        view.getUint16(at + 6, true),
      );
    }
    for (; at < end; at += 2) value += String.fromCharCode(view.getUint16(at, true));
    return value;
  }
}
