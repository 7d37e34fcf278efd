/**
 * What a codec is: how values that are no primitives become bytes of a message, and values again.
 *
 * Invariant: an encoder and the decoder at the other end learn from each other, so messages are decoded
 * in the order in which they were encoded, each exactly once. A message that is not sent must leave no
 * trace: see {@link Encoder.abandon}.
 */

import type { Reader } from '../ring/reader.js';
import type { Writer } from '../ring/writer.js';

export interface References {
  /**
   * A number >= 0 for what only the bridge can pass on (function, AbortSignal, async iterator, something
   * to transfer), or -1. May be asked for the same value several times in one message.
   */
  numberOf(value: object): number;
  /** A number >= 0 for what only a message of the platform can carry, or -1 if no message will be read. */
  numberByMessage(value: object): number;
  valueOf(number: number): unknown;
}

export interface Encoder {
  encode(writer: Writer, value: unknown): void;
  /**
   * The message that is open in the writer will not be sent, for a reason that is none of the encoder's.
   * It needs no call after `encode` has thrown.
   */
  abandon?(): void;
}

export interface Decoder {
  decode(reader: Reader): unknown;
}

export interface Codec {
  /** Both sides must name the same. */
  readonly name: string;
  encoder(references: References): Encoder;
  decoder(references: References): Decoder;
}
