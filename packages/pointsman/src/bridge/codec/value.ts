/**
 * The stateless parts of the codec: primitives, bytes and references.
 *
 * Invariant: no function here changes the state of the codec.
 */

import { builtIn, goesByMessage } from '../../transport/kinds.js';
import type { Reader } from '../ring/reader.js';
import type { Writer } from '../ring/writer.js';
import * as tags from './tags.js';

/** Values that only the bridge can pass, by number. */
export interface ValueReferences {
  /**
   * Returns a number >= 0 for a function, AbortSignal, iterator, async iterable or transferred value; -1 for others.
   * May be called several times for one value of a message.
   */
  numberOf(value: object): number;
  /** Returns a number >= 0 for a value that only a platform message can carry; -1 if no message will be read. */
  numberByMessage(value: object): number;
  valueOf(number: number): unknown;
}

/** Returns whether the value was a primitive and is written. The other `write` functions do likewise. */
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

/** Whether the codec does not know the value's class, so the bridge may pass it. */
export function isForeign(value: unknown): value is object {
  if (typeof value === 'function') return true;
  return typeof value === 'object' && value !== null && builtIn(value) === undefined;
}

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

/** Writes a value that only a platform message can carry, if such a message will be read. */
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

/** Works across realms and for derived classes. */
export function typedArrayName(value: unknown): string | undefined {
  return nameOfView.call(value);
}

export function writeBytes(writer: Writer, value: unknown): boolean {
  if (typedArrayName(value) !== 'Uint8Array') return false;
  writer.byte(tags.bytesTag);
  writer.bytes(value as Uint8Array);
  return true;
}
