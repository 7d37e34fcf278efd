/**
 * The same bytes seen as each type, and what this runtime can do with text in them.
 *
 * Invariant: all views show the whole buffer, so an offset means the same place in each of them. They
 * are made once, never for a message.
 */

/** A view of Node, Bun and Deno, which reads and writes text natively, shared or not. */
export interface TextBytes {
  write(text: string, offset: number, length: number, encoding: 'latin1' | 'utf16le'): number;
  toString(encoding: 'latin1' | 'utf16le', start: number, end: number): string;
}

interface BufferClass {
  readonly prototype: { readonly latin1Slice?: unknown };
  from(buffer: ArrayBufferLike): TextBytes;
}

export class Memory {
  readonly buffer: ArrayBufferLike;
  readonly u8: Uint8Array;
  readonly i32: Int32Array;
  readonly f64: Float64Array;
  readonly view: DataView;
  /** Absent in browsers. */
  readonly text: TextBytes | undefined;
  /** Whether `TextEncoder` and `TextDecoder` take views of it. Browsers refuse shared memory. */
  readonly encodable: boolean;

  /** The buffer's length is a multiple of 8. */
  constructor(buffer: ArrayBufferLike) {
    this.buffer = buffer;
    this.u8 = new Uint8Array(buffer);
    this.i32 = new Int32Array(buffer);
    this.f64 = new Float64Array(buffer);
    this.view = new DataView(buffer);
    const native = (globalThis as { Buffer?: BufferClass }).Buffer;
    // What bundlers put in its place has the documented methods only, and is no faster than a loop.
    this.text = native?.prototype.latin1Slice === undefined ? undefined : native.from(buffer);
    this.encodable = buffer instanceof ArrayBuffer || takesViews(this.u8.subarray(0, 0));
  }
}

function takesViews(bytes: Uint8Array): boolean {
  try {
    new TextEncoder().encodeInto('', bytes);
    new TextDecoder().decode(bytes);
    return true;
  } catch {
    return false;
  }
}
