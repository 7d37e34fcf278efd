/**
 * The way in and out that all codecs share: primitives and bytes without the codec, and references,
 * which only the bridge can pass on.
 *
 * Invariant: a value that was written whole is read whole, and when `writeValue` throws, the encoder has
 * forgotten what the message taught it.
 */

import { CorruptMessageError, type Reader } from '../ring/reader.js';
import type { Writer } from '../ring/writer.js';
import type { Decoder, Encoder, References } from './codec.js';
import { builtIn, goesByMessage } from './kinds.js';
import * as tags from './tags.js';

export function writeValue(
  writer: Writer,
  value: unknown,
  encoder: Encoder,
  references: References,
): void {
  try {
    if (
      typeof value === 'object' &&
      value !== null &&
      Object.getPrototypeOf(value) === Object.prototype
    ) {
      // The commonest case comes first, and asks nobody else.
    } else if (writePrimitive(writer, value) || writeByMessage(writer, value, references)) {
      return;
    } else if (writeBytes(writer, value)) {
      return;
    } else if (isForeign(value) && writeReference(writer, value, references)) {
      return;
    }
    writer.byte(tags.codecTag);
    encoder.encode(writer, value);
  } catch (error) {
    encoder.abandon?.();
    throw error;
  }
}

export function readValue(reader: Reader, decoder: Decoder, references: References): unknown {
  const tag = reader.byte();
  if (tag === tags.codecTag) return decoder.decode(reader);
  if (tag >= tags.small || tag <= tags.stringTag) return readPrimitive(reader, tag);
  if (tag === tags.bytesTag) return reader.bytes();
  if (tag === tags.referenceTag) return references.valueOf(reader.varint());
  throw new CorruptMessageError(`no value begins with ${tag}`);
}

/** Whether it was one, and is written. */
export function writePrimitive(writer: Writer, value: unknown): boolean {
  switch (typeof value) {
    case 'number':
      writeNumber(writer, value);
      return true;
    case 'string':
      writer.byte(tags.stringTag);
      writer.string(value);
      return true;
    case 'boolean':
      writer.byte(value ? tags.trueTag : tags.falseTag);
      return true;
    case 'undefined':
      writer.byte(tags.undefinedTag);
      return true;
    default:
      if (value !== null) return false;
      writer.byte(tags.nullTag);
      return true;
  }
}

export function writeNumber(writer: Writer, value: number): void {
  writer.reserve(9);
  const { position } = writer;
  if ((value | 0) === value && (value !== 0 || 1 / value > 0)) {
    if (value >= 0 && value < tags.small) {
      writer.u8[position] = tags.small + value;
      writer.position = position + 1;
    } else {
      writer.u8[position] = tags.integerTag;
      writer.view.setInt32(position + 1, value, true);
      writer.position = position + 5;
    }
  } else {
    writer.u8[position] = tags.doubleTag;
    writer.view.setFloat64(position + 1, value, true);
    writer.position = position + 9;
  }
}

/** The tag is one from `undefinedTag` to `stringTag`, or a small integer. */
export function readPrimitive(reader: Reader, tag: number): unknown {
  if (tag >= tags.small) return tag - tags.small;
  switch (tag) {
    case tags.undefinedTag:
      return undefined;
    case tags.nullTag:
      return null;
    case tags.falseTag:
      return false;
    case tags.trueTag:
      return true;
    case tags.integerTag:
      return reader.i32();
    case tags.doubleTag:
      return reader.double();
    default:
      return reader.string();
  }
}

/** Whether its class is none of those that every codec knows, so that the bridge may pass it on. */
export function isForeign(value: unknown): value is object {
  if (typeof value === 'function') return true;
  return typeof value === 'object' && value !== null && builtIn(value) === undefined;
}

/** Whether the bridge passes it on. */
export function writeReference(writer: Writer, value: object, references: References): boolean {
  const number = references.numberOf(value);
  if (number < 0) return false;
  writer.byte(tags.referenceTag);
  writer.varint(number);
  return true;
}

/** Whether only a message can carry it, and will. */
export function writeByMessage(writer: Writer, value: unknown, references: References): boolean {
  if (!goesByMessage(value as object)) return false;
  const number = references.numberByMessage(value as object);
  if (number < 0) return false;
  writer.byte(tags.referenceTag);
  writer.varint(number);
  return true;
}

const nameOfView = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)?.get as () => string | undefined;

/** The name of the class of a typed array, also of one from another realm or of a derived class. */
export function typedArrayName(value: unknown): string | undefined {
  return nameOfView.call(value);
}

/** Whether it is bytes, and written. */
export function writeBytes(writer: Writer, value: unknown): boolean {
  if (typedArrayName(value) !== 'Uint8Array') return false;
  writer.byte(tags.bytesTag);
  writer.bytes(value as Uint8Array);
  return true;
}
