/**
 * Encodes errors: the class, flags and values of the non-enumerable properties, and the other own properties.
 *
 * Invariant: the decoder numbers an error before it reads the error's parts, because a cause may refer back to it.
 */

import {
  defineHidden,
  errorClassOf,
  exceptionClass,
  hiddenKeys,
  hiddenPartsOf,
  makeError,
  partsOf,
} from '../../transport/error-values.js';
import type { UncloneableSearch } from '../../transport/uncloneable.js';
import type { Reader } from '../ring/reader.js';
import type { Writer } from '../ring/writer.js';
import type { ValueReader, ValueWriter } from './shapes.js';

/** Writes an error. A property that cannot be passed is omitted, and its name is listed instead. */
export function writeError(
  writer: Writer,
  error: Error,
  values: ErrorWriter,
  uncloneable: UncloneableSearch,
): void {
  const classNumber = errorClassOf(error);
  writer.byte(classNumber);
  if (classNumber === exceptionClass) {
    writer.string(error.message);
    writer.string(error.name);
  }
  const flags = hiddenPartsOf(error, classNumber);
  const { hidden, own } = partsOf(error, flags, (value) => uncloneable.holds(value));
  let kept = 0;
  for (const [key] of hidden) kept |= 1 << hiddenKeys.indexOf(key);
  writer.byte(kept);
  for (const [, value] of hidden) values.write(writer, value);
  values.writeProperties(writer, own);
}

export interface ErrorWriter extends ValueWriter {
  writeProperties(writer: Writer, value: object): void;
}

export interface ErrorReader extends ValueReader {
  register<Value extends object>(value: Value): Value;
  readProperties<Value extends object>(reader: Reader, value: Value): Value;
}

export function readError(reader: Reader, values: ErrorReader): Error {
  const classNumber = reader.byte();
  const error = values.register(
    classNumber === exceptionClass
      ? makeError(classNumber, reader.string(), reader.string())
      : makeError(classNumber),
  );
  const flags = reader.byte();
  for (const [index, key] of hiddenKeys.entries()) {
    if (flags & (1 << index)) defineHidden(error, key, values.read(reader));
  }
  return values.readProperties(reader, error);
}
