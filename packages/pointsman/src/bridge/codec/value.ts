/**
 * The parts of a value that need no memory of what came before: primitives, bytes, and references, which
 * only the bridge can pass on.
 *
 * Invariant: nothing here changes what the codec remembers.
 */

import { builtIn, goesByMessage } from '../../transport/kinds.js';
import type { Reader } from '../ring/reader.js';
import type { Writer } from '../ring/writer.js';
import * as tags from './tags.js';

/** What the codec asks of the bridge. */
export interface ValueReferences {
  /**
   * A number >= 0 for what only the bridge can pass on (function, AbortSignal, async iterator, something
   * to transfer), or -1. May be asked for the same value several times in one message.
   */
  numberOf(value: object): number;
  /** A number >= 0 for what only a message of the platform can carry, or -1 if no message will be read. */
  numberByMessage(value: object): number;
  valueOf(number: number): unknown;
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

/** Whether its class is none of those that the codec knows, so that the bridge may pass it on. */
export function isForeign(value: unknown): value is object {
  if (typeof value === 'function') return true;
  return typeof value === 'object' && value !== null && builtIn(value) === undefined;
}

/** Whether the bridge passes it on. */
export function writeReference(
  writer: Writer,
  value: object,
  references: ValueReferences,
): boolean {
  const number = references.numberOf(value);
  if (number < 0) return false;
  writer.byte(tags.referenceTag);
  writer.varint(number);
  return true;
}

/** Whether only a message can carry it, and will. */
export function writeByMessage(
  writer: Writer,
  value: unknown,
  references: ValueReferences,
): boolean {
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
