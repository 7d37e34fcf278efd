/**
 * Decodes values from the bytes of a message: the counterpart of the encoder.
 *
 * Invariant: for any bytes, the decoder reads nothing beyond the message and throws an error for invalid content.
 */

import { CorruptMessageError, type Reader } from '../ring/reader.js';
import { readError } from './error-values.js';
import { readGeometry } from './geometry.js';
import { define, type ReadShape, readShape } from './shapes.js';
import * as tags from './tags.js';
import { readPrimitive, type ValueReferences } from './value.js';
import { viewClass } from './views.js';

const END = Symbol('end');

export class Decoder {
  readonly #references: ValueReferences;
  readonly #shapes: ReadShape[] = [];
  #graph: object[] | undefined;

  constructor(references: ValueReferences) {
    this.#references = references;
  }

  decode(reader: Reader): unknown {
    this.#graph = undefined;
    const value = this.read(reader);
    if (value === END) throw new CorruptMessageError('unexpected end tag');
    return value;
  }

  read(reader: Reader): unknown {
    const tag = reader.byte();
    if (tag >= tags.small || tag <= tags.stringTag) return readPrimitive(reader, tag);
    switch (tag) {
      case tags.shapeTag:
        return this.#object(reader);
      case tags.defineTag:
        readShape(reader, this.#shapes);
        return this.read(reader);
      case tags.keyedTag:
        return this.readProperties(reader, this.register({}));
      case tags.arrayTag:
        return this.#array(reader);
      case tags.numbersTag:
        return this.register(readNumbers(reader));
      case tags.bytesTag:
        return this.register(reader.bytes());
      case tags.referenceTag:
        return this.#references.valueOf(reader.varint());
      case tags.endTag:
        return END;
      case tags.graphTag:
        return this.#readGraph(reader);
      case tags.repeatTag:
        return this.#repeated(reader.varint());
      default:
        return this.#special(reader, tag);
    }
  }

  /** Numbers an object of a graph. Called before the object's contents are read. */
  register<Value extends object>(value: Value): Value {
    this.#graph?.push(value);
    return value;
  }

  #readGraph(reader: Reader): unknown {
    this.#graph = [];
    const value = this.read(reader);
    this.#graph = undefined;
    return value;
  }

  #repeated(number: number): object {
    const found = this.#graph?.[number];
    if (found === undefined) throw new CorruptMessageError(`unknown object ${number}`);
    return found;
  }

  #object(reader: Reader): object {
    const number = reader.byte();
    const shape = this.#shapes[number];
    if (shape === undefined) throw new CorruptMessageError(`unknown shape ${number}`);
    if (this.#graph === undefined) return shape.read(reader, this);
    return shape.fill(this.register(shape.blank()), reader, this);
  }

  readProperties<Value extends object>(reader: Reader, value: Value): Value {
    for (let key = this.read(reader); key !== END; key = this.read(reader)) {
      define(value, key as string, this.read(reader));
    }
    return value;
  }

  #array(reader: Reader): unknown[] {
    const length = reader.varint();
    const value: unknown[] = this.register([]);
    for (let index = 0; index < length; index += 1) {
      if (reader.u8[reader.position] === tags.sparseTag) {
        reader.position += 1;
        value.length = length;
        this.#rest(reader, value);
        break;
      }
      value.push(this.read(reader));
    }
    return value;
  }

  #rest(reader: Reader, value: unknown[]): void {
    while (reader.byte() !== tags.endTag) {
      const index = reader.varint();
      value[index] = this.read(reader);
    }
  }

  #special(reader: Reader, tag: number): unknown {
    switch (tag) {
      case tags.bigintTag:
        return readBigint(reader);
      case tags.dateTag:
        return this.register(new Date(reader.double()));
      case tags.regexpTag:
        return this.register(new RegExp(reader.string(), reader.string()));
      case tags.mapTag: {
        const map = this.register(new Map());
        for (let key = this.read(reader); key !== END; key = this.read(reader)) {
          map.set(key, this.read(reader));
        }
        return map;
      }
      case tags.setTag: {
        const set = this.register(new Set());
        for (let item = this.read(reader); item !== END; item = this.read(reader)) set.add(item);
        return set;
      }
      case tags.bufferTag:
        return this.register(reader.bytes().buffer);
      case tags.viewTag: {
        const View = viewClass(reader.byte());
        return this.register(new View(reader.bytes().buffer));
      }
      case tags.errorTag:
        return readError(reader, this);
      case tags.boxedTag:
        return this.register(Object(this.read(reader)) as object);
      case tags.namedTag: {
        const value = this.read(reader);
        if (!Array.isArray(value)) throw new CorruptMessageError('named properties of a non-array');
        return this.readProperties(reader, value);
      }
      case tags.geometryTag:
        return this.register(readGeometry(reader));
      default:
        throw new CorruptMessageError(`unknown tag ${tag}`);
    }
  }
}

function readNumbers(reader: Reader): number[] {
  const length = reader.varint();
  reader.align();
  reader.need(8 * length);
  const { f64 } = reader;
  const first = reader.position >> 3;
  const value = new Array<number>(length);
  for (let index = 0; index < length; index += 1) value[index] = f64[first + index] as number;
  reader.position += 8 * length;
  return value;
}

function readBigint(reader: Reader): bigint {
  const form = reader.byte();
  if (form === 8) {
    reader.need(8);
    reader.position += 8;
    return reader.view.getBigInt64(reader.position - 8, true);
  }
  const value = BigInt(`0x${reader.string()}`);
  return form === 1 ? -value : value;
}
