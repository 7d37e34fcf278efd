/**
 * Reads frames from a ring and decodes them.
 *
 * Invariant: frames are opened one at a time, in the order in which they were sent. Each is released before its call
 * runs, because the called function may make a blocking call itself.
 */

import { Decoder } from './codec/decoder.js';
import type { FrameValues } from './frame-values.js';
import { VALUES_SHIFT } from './frames.js';
import { Reader } from './ring/reader.js';
import type { RingReader } from './ring/ring.js';

export interface FrameReaderOptions {
  readonly ring: RingReader;
  readonly values: FrameValues;
  /** Receives one message synchronously. Returns whether there was one. Absent in browsers. */
  readonly receive?: (() => boolean) | undefined;
  /** Called when a frame is unreadable. The bridge cannot continue, because the frame may have defined shapes. */
  broken(reason: string): void;
}

export class FrameReader {
  /** Whether the next frame waits for values that are sent by message. */
  isPaused = false;
  readonly ring: RingReader;
  /** Why the values of the last frame are unreadable in this thread. */
  failure: Error | undefined;
  #isBroken = false;
  readonly #options: FrameReaderOptions;
  readonly #reader = new Reader();
  readonly #decoder: Decoder;

  constructor(options: FrameReaderOptions) {
    this.#options = options;
    this.ring = options.ring;
    this.#decoder = new Decoder(options.values);
  }

  /** Opens the next frame. Returns false if there is none, or if its values have not arrived. */
  next(): boolean {
    const { ring } = this;
    const { values, receive } = this.#options;
    if (!this.isPaused && !this.#open()) return false;
    if (ring.kind >>> VALUES_SHIFT > 0) {
      while (!values.take()) {
        if (receive?.()) continue;
        this.isPaused = true;
        return false;
      }
    }
    this.isPaused = false;
    return true;
  }

  #open(): boolean {
    if (this.#isBroken) return false;
    try {
      return this.ring.next(this.#reader);
    } catch (error) {
      this.#break(error);
      return false;
    }
  }

  /** Reads the arguments and releases the frame. Returns undefined if they are unreadable. */
  arguments(): readonly unknown[] | undefined {
    try {
      const args: unknown[] = [];
      for (let left = this.#reader.varint(); left > 0; left--) {
        args.push(this.#decoder.decode(this.#reader));
      }
      return args;
    } catch (error) {
      this.#break(error);
    } finally {
      this.release();
    }
  }

  value(): unknown {
    try {
      return this.#decoder.decode(this.#reader);
    } catch (error) {
      this.#break(error);
    } finally {
      this.release();
    }
  }

  release(): void {
    const { values } = this.#options;
    this.failure = values.failure;
    values.received();
    this.ring.release();
  }

  #break(error: unknown): void {
    this.#isBroken = true;
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.broken(`a message cannot be read: ${reason}`);
  }
}
