/**
 * The frames between a client and the server: a length, a kind and a text.
 *
 * The server answers each frame of a client except `bye` by one frame, in order, and may send messages between them.
 */

/** The version of the frames, of the journal and of the protocol's rules. Processes of one namespace must agree. */
export const VERSION = 1;

export const Kind = {
  /** From a client. */
  hello: 1,
  batch: 2,
  listen: 3,
  unlisten: 4,
  ping: 5,
  bye: 6,
  /** From the server. */
  reply: 17,
  done: 18,
  refused: 19,
  message: 20,
} as const;

export type Kind = (typeof Kind)[keyof typeof Kind];

const HEAD = 5;
/** The longest text: a batch of 256 requests for 1,000 keys each may be long. */
export const LONGEST = 2 ** 28;

export function encodeFrame(kind: Kind, text: string): Buffer {
  const size = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(HEAD + size);
  frame.writeUInt32LE(size);
  frame[4] = kind;
  frame.write(text, HEAD);
  return frame;
}

/** Thrown for bytes that are no frame. What follows on the connection cannot be read. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
}

/** Assembles frames from the bytes of a connection. */
export class FrameReader {
  /** The longest text that is accepted now. */
  longest = LONGEST;
  #rest: Buffer = Buffer.alloc(0);
  #chunks: Buffer[] = [];
  #missing = 0;

  /** Calls `use` for each frame that is complete. @throws {FrameError} if a frame is too long. */
  read(chunk: Buffer, use: (kind: number, text: Buffer) => void): void {
    this.#chunks.push(chunk);
    this.#missing -= chunk.length;
    // Joined only when a frame is complete, so a long one is copied once.
    if (this.#missing > 0) return;
    let bytes = this.#chunks.length === 1 && this.#rest.length === 0 ? chunk : this.#joined();
    this.#chunks = [];
    this.#rest = Buffer.alloc(0);
    while (bytes.length >= HEAD) {
      const size = bytes.readUInt32LE();
      if (size > this.longest) throw new FrameError(`a frame has ${size} bytes`);
      const end = HEAD + size;
      if (bytes.length < end) {
        this.#missing = end - bytes.length;
        break;
      }
      use(bytes[4] as number, bytes.subarray(HEAD, end));
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes;
  }

  #joined(): Buffer {
    return Buffer.concat([this.#rest, ...this.#chunks]);
  }
}
