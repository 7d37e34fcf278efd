/**
 * Writes the primitives of one message: to a region of a ring if it fits there, otherwise to the writer's own memory.
 *
 * Invariants:
 * - A message begins at a multiple of 8 in either memory, so aligned values stay aligned when the message moves.
 * - `memory`, `u8`, `f64` and `view` change together, only in `open` and `reserve`. A caller reserves space first and
 *   reads these fields afterwards.
 */

import { Memory } from './memory.js';

/** Thrown for a message with more than `limit` bytes. No part of it was sent. */
export class MessageTooLargeError extends RangeError {
  override readonly name = 'MessageTooLargeError';
  readonly limit: number;

  constructor(limit: number) {
    super(`the message has more than ${limit} bytes`);
    this.limit = limit;
  }
}

/** Maximum bytes of own memory that are kept for the next message. */
const MAX_KEPT = 1 << 20;

/** Up to this length, a loop over the characters beats a native call, in the lab's row `a 1 kB object`. */
const SHORT = 48;

// The first byte of a string: its length if it has at most this many one-byte characters, otherwise its encoding,
// followed by a length of four bytes.
export const MAX_INLINE = 0xef;
export const LATIN1 = 0xf0;
export const UTF16 = 0xf1;
export const UTF8 = 0xf2;

/**
 * Minimum length of byte arrays that are aligned to 8. V8 copies unaligned bytes one at a time into and out of shared
 * memory, as the lab's rows of bytes show.
 */
export const MIN_ALIGNED = 64;

const encoder = new TextEncoder();
const beyondLatin1 = /[\u0100-\uffff]/;
/**
 * Whether the text has no lone surrogate; false if the runtime cannot tell. Not a pattern with the flag `u`, because
 * WebKit's misses some.
 */
const isWellFormed = (text: string & { isWellFormed?(): boolean }): boolean =>
  text.isWellFormed?.() === true;

/** Number of characters that are encoded into `scratch` at a time. */
const PIECE = 1 << 15;

let scratch: Uint8Array | undefined;

const NO_MEMORY = new Memory(new ArrayBuffer(0));

export class Writer {
  memory: Memory = NO_MEMORY;
  u8: Uint8Array = NO_MEMORY.u8;
  f64: Float64Array = NO_MEMORY.f64;
  view: DataView = NO_MEMORY.view;
  position = 0;
  end = 0;
  start = 0;
  /** The number of messages begun; identifies the current one. */
  messages = 0;
  readonly #limit: number;
  /** The writer's own memory, for messages that do not fit into their region. */
  #own = NO_MEMORY;

  constructor(limit: number) {
    this.#limit = limit;
  }

  open(memory: Memory, start: number, end: number): void {
    if (this.#own.u8.length > MAX_KEPT) this.#own = NO_MEMORY;
    this.#use(memory);
    this.start = start;
    this.position = start;
    this.end = Math.min(end, start + this.#limit);
    this.messages += 1;
  }

  /** Whether the message is in the writer's own memory. */
  get spilled(): boolean {
    return this.memory === this.#own;
  }

  get length(): number {
    return this.position - this.start;
  }

  /** Moves the message to the writer's own memory if the region is too small. */
  reserve(bytes: number): void {
    if (this.end - this.position < bytes) this.#grow(bytes);
  }

  #grow(bytes: number): void {
    const { u8, start, position, length } = this;
    const needed = length + bytes;
    if (needed > this.#limit) throw new MessageTooLargeError(this.#limit);
    // Transferred memory has length 0 and is replaced too.
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

  /** The caller has reserved the space. */
  align(): void {
    this.position = (this.position + 7) & ~7;
  }

  byte(value: number): void {
    this.reserve(1);
    this.u8[this.position++] = value;
  }

  /** Writes an integer from 0 to 2 ** 32 - 1, in one byte if it is below 128. */
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

  bytes(value: Uint8Array): void {
    const { length } = value;
    this.varint(length);
    const padding = length < MIN_ALIGNED ? 0 : -this.position & 7;
    this.reserve(padding + length);
    this.position += padding;
    this.u8.set(value, this.position);
    this.position += length;
  }

  string(value: string): void {
    const { length } = value;
    if (length > SHORT) {
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
    // Engines that store the string as one-byte characters answer this test at once.
    const wide = beyondLatin1.test(value);
    if (this.memory.text !== undefined && !wide) {
      this.#head(LATIN1, length, length);
      // #head may have changed the memory.
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
    this.#head(UTF16, length, 2 * length);
    if (length > SHORT && this.memory.text !== undefined) {
      this.memory.text.write(value, this.position, 2 * length, 'utf16le');
    } else {
      for (let index = 0; index < length; index += 1) {
        this.view.setUint16(this.position + 2 * index, value.charCodeAt(index), true);
      }
    }
    this.position += 2 * length;
  }

  /**
   * In pieces, because a runtime converts the whole string that it encodes. Each is encoded into `scratch`, because
   * browsers cannot encode into shared memory, and copied in multiples of 8 bytes, because V8 copies unaligned bytes one
   * at a time.
   */
  #utf8(value: string): void {
    this.#head(UTF8, 0, value.length + 8);
    const lengthAt = this.length - 4;
    this.align();
    const begin = this.length;
    let kept = 0;
    for (let at = 0; at < value.length; ) {
      let next = at + PIECE;
      if (next < value.length && (value.charCodeAt(next) & 0xfc00) === 0xdc00) next += 1;
      const text = value.slice(at, next);
      at = next;
      // A UTF-16 code unit takes at most three bytes.
      scratch ??= new Uint8Array(3 * (PIECE + 1) + 8);
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
