/**
 * Where one message is written: a region of a ring if it fits there, else memory of its own.
 *
 * Invariants: a message begins at a multiple of 8, in whichever memory it is, so what is aligned stays
 * aligned when the message moves. `memory`, `u8`, `f64` and `view` change together, in `open` and
 * `reserve` only: whoever wants to write reserves first and reads them afterwards.
 */

import { Memory } from './memory.js';

/** A message has more bytes than were allowed. Nothing of it was sent. */
export class MessageTooLargeError extends RangeError {
  override readonly name = 'MessageTooLargeError';
  /** The most bytes that a message may have. */
  readonly limit: number;

  constructor(limit: number) {
    super(`a message must have at most ${limit} bytes`);
    this.limit = limit;
  }
}

/** Bytes: more memory of its own is given back, so that one large message does not hold on to it for ever. */
const mostKept = 1 << 20;

/** Up to so many characters a loop over them beats a call into the runtime, in the row `a 1 kB object`. */
const short = 48;

// How a string begins: with its length if it is of this many characters of one byte each at most, else
// with its kind and a length of four bytes.
export const shortest = 0xef;
export const latin1 = 0xf0;
export const utf16 = 0xf1;
export const utf8 = 0xf2;

/**
 * So many bytes begin at a multiple of 8, which wins the rows of bytes: V8 copies one by one, into and out of shared
 * memory, what is not aligned.
 */
export const worthAligning = 64;

const encoder = new TextEncoder();
const beyondLatin1 = /[\u0100-\uffff]/;
/**
 * Whether it has no lone surrogate, as far as the runtime tells. Not by a pattern: in WebKit one with the flag `u`
 * overlooks some.
 */
const isWellFormed = (text: string & { isWellFormed?(): boolean }): boolean =>
  text.isWellFormed?.() === true;

/** Characters that are encoded at a time: for a text of any length the scratch stays small. */
const piece = 1 << 15;

/** Where they are encoded to. */
let scratch: Uint8Array | undefined;

const nowhere = new Memory(new ArrayBuffer(0));

export class Writer {
  memory: Memory = nowhere;
  u8: Uint8Array = nowhere.u8;
  f64: Float64Array = nowhere.f64;
  view: DataView = nowhere.view;
  position = 0;
  end = 0;
  /** Where the message begins. */
  start = 0;
  /** How many messages were begun, so that others can tell one from the next. */
  messages = 0;
  readonly #limit: number;
  /** Memory of its own: that of the last message which needed some. */
  #own = nowhere;

  /** Takes the most bytes that a message may have. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Begins a message there. */
  open(memory: Memory, start: number, end: number): void {
    if (this.#own.u8.length > mostKept) this.#own = nowhere;
    this.#use(memory);
    this.start = start;
    this.position = start;
    this.end = Math.min(end, start + this.#limit);
    this.messages += 1;
  }

  /** Whether the message is in memory of its own, where it begins at 0. */
  get spilled(): boolean {
    return this.memory === this.#own;
  }

  /** How many bytes the message has so far. */
  get length(): number {
    return this.position - this.start;
  }

  /** Makes room, if need be by moving what is written so far to memory of its own. */
  reserve(bytes: number): void {
    if (this.end - this.position < bytes) this.#grow(bytes);
  }

  #grow(bytes: number): void {
    const { u8, start, position, length } = this;
    const needed = length + bytes;
    if (needed > this.#limit) throw new MessageTooLargeError(this.#limit);
    // Memory that was transferred away has no bytes left, and is replaced like memory that is too small.
    if (this.#own.u8.length < needed) {
      const wanted = Math.min(Math.max(needed, 2 * (this.end - start)), this.#limit);
      this.#own = new Memory(new ArrayBuffer((wanted + 7) & ~7));
    }
    this.#own.u8.set(u8.subarray(start, position));
    this.#use(this.#own);
    this.start = 0;
    this.position = length;
    this.end = Math.min(this.#own.u8.length, this.#limit);
  }

  #use(memory: Memory): void {
    this.memory = memory;
    this.u8 = memory.u8;
    this.f64 = memory.f64;
    this.view = memory.view;
  }

  /** Skips to a multiple of 8. The room for it is reserved already. */
  align(): void {
    this.position = (this.position + 7) & ~7;
  }

  byte(value: number): void {
    this.reserve(1);
    this.u8[this.position++] = value;
  }

  /** An integer from 0 to 2 ** 32 - 1, in one byte if it is below 128. */
  varint(value: number): void {
    this.reserve(5);
    let rest = value;
    while (rest > 127) {
      this.u8[this.position++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    this.u8[this.position++] = rest;
  }

  i32(value: number): void {
    this.reserve(4);
    this.view.setInt32(this.position, value, true);
    this.position += 4;
  }

  double(value: number): void {
    this.reserve(8);
    this.view.setFloat64(this.position, value, true);
    this.position += 8;
  }

  /** How many, and then the bytes. */
  bytes(value: Uint8Array): void {
    const { length } = value;
    this.varint(length);
    const padding = length < worthAligning ? 0 : -this.position & 7;
    this.reserve(padding + length);
    this.position += padding;
    this.u8.set(value, this.position);
    this.position += length;
  }

  string(value: string): void {
    const { length } = value;
    if (length > short) {
      this.#long(value);
      return;
    }
    this.reserve(length + 1);
    const { u8, position } = this;
    u8[position] = length;
    for (let index = 0; index < length; index += 1) {
      const code = value.charCodeAt(index);
      if (code > 255) {
        this.#utf16(value);
        return;
      }
      u8[position + 1 + index] = code;
    }
    this.position = position + 1 + length;
  }

  #long(value: string): void {
    const { length } = value;
    // The search is over at once in a string that the engine stores in bytes.
    const wide = beyondLatin1.test(value);
    if (this.memory.text !== undefined && !wide) {
      this.#head(latin1, length, length);
      // The memory may be another now.
      this.memory.text?.write(value, this.position, length, 'latin1');
      this.position += length;
    } else if (this.memory.text !== undefined || !isWellFormed(value)) {
      this.#utf16(value);
    } else {
      this.#utf8(value);
    }
  }

  #utf16(value: string): void {
    const { length } = value;
    this.#head(utf16, length, 2 * length);
    if (length > short && this.memory.text !== undefined) {
      this.memory.text.write(value, this.position, 2 * length, 'utf16le');
    } else {
      for (let index = 0; index < length; index += 1) {
        this.view.setUint16(this.position + 2 * index, value.charCodeAt(index), true);
      }
    }
    this.position += 2 * length;
  }

  /**
   * Piece by piece, as the runtime converts all of a string before it encodes a part. Each goes by way
   * of the scratch, since browsers encode into no shared memory, and on in multiples of 8 bytes, since
   * what is not aligned is copied to shared memory byte by byte.
   */
  #utf8(value: string): void {
    this.#head(utf8, 0, value.length + 8);
    const lengthAt = this.length - 4;
    this.align();
    const begin = this.length;
    let kept = 0;
    for (let at = 0; at < value.length; ) {
      let next = at + piece;
      // Pairs of surrogates stay together.
      if (next < value.length && (value.charCodeAt(next) & 0xfc00) === 0xdc00) next += 1;
      const text = value.slice(at, next);
      at = next;
      // A character takes three bytes at most.
      scratch ??= new Uint8Array(3 * (piece + 1) + 8);
      kept += encoder.encodeInto(text, scratch.subarray(kept)).written;
      const whole = at < value.length ? kept & ~7 : kept;
      this.reserve(whole);
      this.u8.set(scratch.subarray(0, whole), this.position);
      this.position += whole;
      scratch.copyWithin(0, whole, kept);
      kept -= whole;
    }
    this.view.setUint32(this.start + lengthAt, this.length - begin, true);
  }

  #head(kind: number, length: number, bytes: number): void {
    this.reserve(5 + bytes);
    this.u8[this.position] = kind;
    this.view.setUint32(this.position + 1, length, true);
    this.position += 5;
  }
}
