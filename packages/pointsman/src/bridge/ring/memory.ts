/**
 * Views of one buffer for each element type, and the runtime's native text functions for it.
 *
 * Invariant: all views cover the whole buffer, so an offset means the same byte in each. They are created once, never
 * per message.
 */

/** A `Buffer` of Node, Bun or Deno: it reads and writes text natively, in shared memory too. */
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
  /** Whether `TextEncoder` and `TextDecoder` accept views of it. Browsers reject shared memory. */
  readonly encodable: boolean;

  /** The buffer's length is a multiple of 8. */
  constructor(buffer: ArrayBufferLike) {
    this.buffer = buffer;
    this.u8 = new Uint8Array(buffer);
    this.i32 = new Int32Array(buffer);
    this.f64 = new Float64Array(buffer);
    this.view = new DataView(buffer);
    const native = (globalThis as { Buffer?: BufferClass }).Buffer;
    // A bundler's polyfill has the documented methods only, and is no faster than a loop.
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
