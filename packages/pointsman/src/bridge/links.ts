/**
 * The two ways in which frames travel: the ring, and messages of a port. To the bridge they look alike.
 */

import { Memory } from './ring/memory.js';
import type { Reader } from './ring/reader.js';
import type { Writer } from './ring/writer.js';

export interface FrameWriter {
  /** Opens `writer` where the next frame goes. */
  begin(writer: Writer): void;
  /** The frame is complete. */
  end(writer: Writer, kind: number, first: number, second: number): void;
  /** Sees that the reader learns of what was written. */
  wake(): void;
  /** Sends what had no room; whether nothing is left. */
  flush(): boolean;
}

export interface FrameReader {
  readonly ready: boolean;
  /** Of the frame that {@link next} has opened. */
  readonly kind: number;
  readonly first: number;
  readonly second: number;
  next(reader: Reader): boolean;
  release(): void;
}

const HEADER = 16;
const FIRST_SIZE = 4096;

/** Frames of one turn of the event loop travel in one message. */
export class PortWriter implements FrameWriter {
  readonly #post: (frames: ArrayBuffer) => void;
  #memory = new Memory(new ArrayBuffer(FIRST_SIZE));
  #used = 0;

  /** `post` hands the frames over; the buffer is not used afterwards. */
  constructor(post: (frames: ArrayBuffer) => void) {
    this.#post = post;
  }

  begin(writer: Writer): void {
    const { length } = this.#memory.u8;
    writer.open(this.#memory, Math.min(this.#used + HEADER, length), length);
  }

  end(writer: Writer, kind: number, first: number, second: number): void {
    const { length } = writer;
    const size = HEADER + ((length + 7) & ~7);
    if (this.#used + size > this.#memory.u8.length) this.#grow(this.#used + size);
    const at = this.#used;
    if (writer.memory !== this.#memory) {
      this.#memory.u8.set(writer.u8.subarray(writer.start, writer.start + length), at + HEADER);
    }
    this.#memory.i32.set([length, kind, first, second], at >> 2);
    this.#used += size;
  }

  #grow(needed: number): void {
    const grown = new Memory(new ArrayBuffer(2 * needed));
    grown.u8.set(this.#memory.u8.subarray(0, this.#used));
    this.#memory = grown;
  }

  wake(): void {
    if (this.#used === 0) return;
    const frames = (this.#memory.buffer as ArrayBuffer).slice(0, this.#used);
    this.#used = 0;
    if (this.#memory.u8.length > 1 << 20) this.#memory = new Memory(new ArrayBuffer(FIRST_SIZE));
    this.#post(frames);
  }

  flush(): boolean {
    return true;
  }
}

export class PortReader implements FrameReader {
  #messages: Memory[] = [];
  #position = 0;
  #size = 0;

  kind = 0;
  first = 0;
  second = 0;

  /** Frames have come. */
  receive(frames: ArrayBuffer): void {
    this.#messages.push(new Memory(frames));
  }

  get ready(): boolean {
    return this.#messages.length > 0;
  }

  next(reader: Reader): boolean {
    const memory = this.#messages[0];
    if (memory === undefined) return false;
    const header = this.#position >> 2;
    const length = memory.i32[header] as number;
    this.kind = memory.i32[header + 1] as number;
    this.first = memory.i32[header + 2] as number;
    this.second = memory.i32[header + 3] as number;
    this.#size = HEADER + ((length + 7) & ~7);
    const start = this.#position + HEADER;
    reader.open(memory, start, start + length);
    return true;
  }

  release(): void {
    this.#position += this.#size;
    if (this.#position < (this.#messages[0] as Memory).u8.length) return;
    this.#messages.shift();
    this.#position = 0;
  }
}
