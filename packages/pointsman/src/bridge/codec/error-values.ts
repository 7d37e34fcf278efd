/**
 * Errors as values. Structured clone keeps the name, the message and, in some engines, the stack and the
 * cause. Here whatever is an own property of the error is kept, and enumerable only if it was.
 *
 * Invariant: an error is of the nearest class of the language that it derives from, whatever it is called.
 */

import type { Reader } from '../ring/reader.js';
import type { Writer } from '../ring/writer.js';
import type { ValueReader, ValueWriter } from './shapes.js';

type ErrorClass = new (message?: string, name?: string) => Error;

const classNames = [
  'Error',
  'EvalError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'TypeError',
  'URIError',
  'AggregateError',
  'DOMException',
];

const classes = globalThis as unknown as Record<string, ErrorClass | undefined>;
const exception = classNames.indexOf('DOMException');
const aggregate = classNames.indexOf('AggregateError');

/** Those that are properties of an error although no loop over its keys would meet them. */
const hidden = ['message', 'stack', 'name', 'cause', 'errors'];

export function writeError(writer: Writer, error: Error, values: ErrorWriter): void {
  const number = classOf(error);
  writer.byte(number);
  if (number === exception) {
    writer.string(error.message);
    writer.string(error.name);
  }
  const fields = error as unknown as Record<string, unknown>;
  let flags = 0;
  for (const [index, key] of hidden.entries()) {
    // The stack is no own property in every engine, and a derived class may name all of its errors.
    const inherits =
      key === 'stack' ||
      (key === 'name' && number !== exception && error.name !== classNames[number]);
    const has = Object.hasOwn(error, key) || (inherits && fields[key] !== undefined);
    if (has && !Object.prototype.propertyIsEnumerable.call(error, key)) flags |= 1 << index;
  }
  writer.byte(flags);
  for (const [index, key] of hidden.entries()) {
    if (flags & (1 << index)) values.write(writer, fields[key]);
  }
  values.writeProperties(writer, error);
}

export interface ErrorWriter extends ValueWriter {
  writeProperties(writer: Writer, value: object): void;
}

export interface ErrorReader extends ValueReader {
  keep<Value extends object>(value: Value): Value;
  readProperties<Value extends object>(reader: Reader, value: Value): Value;
}

export function readError(reader: Reader, values: ErrorReader): Error {
  const number = reader.byte();
  const error = values.keep(
    number === exception ? makeException(reader.string(), reader.string()) : make(number),
  );
  const flags = reader.byte();
  for (const [index, key] of hidden.entries()) {
    if (flags & (1 << index)) hide(error, key, values.read(reader));
  }
  return values.readProperties(reader, error);
}

/** Unless the error does not allow it, as exceptions of some platforms. */
function hide(error: Error, key: string, value: unknown): void {
  Reflect.defineProperty(error, key, {
    value,
    configurable: true,
    enumerable: false,
    writable: true,
  });
}

function make(number: number): Error {
  const Class = classes[classNames[number] as string] ?? Error;
  if (number !== aggregate) return new Class();
  const error = new AggregateError([]);
  // It comes back if it was there.
  delete (error as Partial<AggregateError>).errors;
  return error;
}

function makeException(message: string, name: string): Error {
  const Class = classes[classNames[exception] as string];
  if (Class !== undefined) return new Class(message, name);
  return Object.assign(new Error(message), { name });
}

function classOf(error: Error): number {
  for (let each = error; each !== null; each = Object.getPrototypeOf(each)) {
    const maker: unknown = Object.getOwnPropertyDescriptor(each, 'constructor')?.value;
    if (typeof maker !== 'function') continue;
    const number = classNames.indexOf(maker.name);
    if (number >= 0) return number;
  }
  return 0;
}
