/**
 * What one side hears from the other over its ring.
 *
 * Invariant: frames are opened one at a time, in the order in which they were sent, and given back before
 * what they ask for is done: a function that is called may call and block in turn.
 */

import { Decoder } from './codec/decoder.js';
import type { FrameValues } from './frame-values.js';
import { MOVED } from './frames.js';
import { Reader } from './ring/reader.js';
import type { RingReader } from './ring/ring.js';

export interface FrameReaderOptions {
  readonly ring: RingReader;
  readonly values: FrameValues;
  /** Receives one message without a return to the event loop; whether there was one. Absent in browsers. */
  readonly receive?: (() => boolean) | undefined;
  /** A frame cannot be read: the bridge cannot go on, as what it should have taught the codec is missing. */
  broken(reason: string): void;
}

export class FrameReader {
  /** The frame that comes next waits for a value that travels by message. */
  isPaused = false;
  readonly ring: RingReader;
  /** The reason if the value of the last frame cannot be read in this thread. */
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

  /** Opens the next frame; false if there is none, or its values have not all come. */
  next(): boolean {
    const { ring } = this;
    const { values, receive } = this.#options;
    if (!this.isPaused && !this.#open()) return false;
    if (ring.kind >>> MOVED > 0) {
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

  /** The arguments in the frame, which is given back; undefined if it cannot be read. */
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

  /** The value in the frame, which is given back. */
  value(): unknown {
    try {
      return this.#decoder.decode(this.#reader);
    } catch (error) {
      this.#break(error);
    } finally {
      this.release();
    }
  }

  /** Gives the frame back. */
  release(): void {
    const { values } = this.#options;
    this.failure = values.failure;
    values.received();
    this.ring.release();
  }

  #break(error: unknown): void {
    this.#isBroken = true;
    const said = error instanceof Error ? error.message : String(error);
    this.#options.broken(`a message cannot be read: ${said}`);
  }
}
