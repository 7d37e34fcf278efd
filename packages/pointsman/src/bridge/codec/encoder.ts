/**
 * Encodes values as bytes of a message: everything that structured clone accepts and that bytes can represent.
 *
 * Invariants:
 * - Repeated objects and cycles within a value are preserved. A value is first written as a tree, which is cheap; if an
 *   object occurs again, the value is rewritten as a graph.
 * - Encoder and decoder keep matching tables of shapes, so each message is decoded exactly once, in order. A message
 *   that is not sent leaves no trace: see {@link Encoder.abandon}.
 *
 * Differences to structured clone: a view is copied with only its own bytes; errors keep their own properties; and the
 * depth of a value is bounded, so that any thread can read it.
 */

import { DataCloneError, Refused, refusal } from '../../transport/clone-errors.js';
import { type Kind, kindOf, refuseOpaque } from '../../transport/kinds.js';
import { isDetached, MAX_DEPTH, survey } from '../../transport/survey.js';
import { UncloneableSearch } from '../../transport/uncloneable.js';
import type { Writer } from '../ring/writer.js';
import { writeError } from './error-values.js';
import { writeGeometry } from './geometry.js';
import { WrittenShapes } from './shapes.js';
import * as tags from './tags.js';
import {
  isForeign,
  type ValueReferences,
  writeByMessage,
  writeBytes,
  writeNumber,
  writePrimitive,
  writeReference,
} from './value.js';
import { viewNumber } from './views.js';

/** Up to this many objects are compared one by one: the lab's row `one blocking call` needs no set. */
const MAX_LISTED = 24;

/** A loop over its keys finds inherited ones only. */
const empty = {};

const { asyncIterator, iterator } = Symbol;
type Iterables = { readonly [asyncIterator]?: unknown; readonly [iterator]?: unknown };

/** Thrown when an object occurs again, to rewrite the value as a graph. */
const REPEATED = Symbol('repeated');

export class Encoder {
  readonly #references: ValueReferences;
  readonly #shapes = new WrittenShapes();
  readonly #objects: (object | undefined)[] = new Array(MAX_LISTED).fill(undefined);
  #count = 0;
  /** All objects of this value, once there are more than MAX_LISTED. */
  #objectSet: Set<object> | undefined;
  #graph: Map<object, number> | undefined;
  #depth = 0;
  #uncloneable: UncloneableSearch | undefined;
  /** Whether `Object.prototype` has enumerable properties. */
  #inheritsKeys = false;
  #busy = false;
  /** The message of the last value, and its length after that value. */
  #writer: Writer | undefined;
  #message = 0;
  #end = 0;

  constructor(references: ValueReferences) {
    this.#references = references;
  }

  /** Writes a value. If it throws, the shapes that the message defined are forgotten. */
  encode(writer: Writer, value: unknown): void {
    try {
      if (writePrimitive(writer, value)) return;
    } catch (error) {
      this.#shapes.abandon();
      throw error;
    }
    if (this.#busy) throw new Error('a getter must not send anything while its value is encoded');
    if (writer.messages !== this.#message || writer !== this.#writer) {
      this.#writer = writer;
      this.#message = writer.messages;
      this.#shapes.begin();
    } else if (writer.length < this.#end) {
      // The last value is overwritten, and with it the shapes that it defined.
      this.#shapes.abandon();
    }
    const begin = writer.length;
    this.#busy = true;
    this.#inheritsKeys = hasKeys(empty);
    try {
      this.write(writer, value);
    } catch (error) {
      this.#shapes.abandon();
      this.#forget();
      if (error !== REPEATED) throw toCallerError(value, error);
      this.#encodeGraph(writer, value, begin);
    }
    this.#forget();
    this.#end = writer.length;
  }

  #forget(): void {
    for (let index = 0; index < this.#count; index += 1) this.#objects[index] = undefined;
    this.#count = 0;
    this.#objectSet = undefined;
    this.#uncloneable = undefined;
    this.#depth = 0;
    this.#busy = false;
  }

  /** Called when the current message will not be sent. */
  abandon(): void {
    this.#shapes.abandon();
  }

  #encodeGraph(writer: Writer, value: unknown, begin: number): void {
    writer.position = writer.start + begin;
    this.#busy = true;
    this.#graph = new Map();
    try {
      writer.byte(tags.graphTag);
      this.write(writer, value);
    } catch (error) {
      this.#shapes.abandon();
      throw toCallerError(value, error);
    } finally {
      this.#graph = undefined;
      this.#depth = 0;
      this.#busy = false;
    }
  }

  write(writer: Writer, value: unknown): void {
    switch (typeof value) {
      case 'number':
        writeNumber(writer, value);
        return;
      case 'object':
        if (value === null) {
          writer.byte(tags.nullTag);
        } else if (Object.getPrototypeOf(value) === Object.prototype) {
          if (isIterable(value) && writeReference(writer, value, this.#references)) return;
          if (!this.#isRepeated(writer, value)) this.#object(writer, value, this.#inheritsKeys);
        } else if (Array.isArray(value) && !isForeign(value)) {
          if (!this.#isRepeated(writer, value)) this.#array(writer, value);
        } else {
          this.#special(writer, value);
        }
        return;
      case 'bigint':
        writer.byte(tags.bigintTag);
        writeBigint(writer, value);
        return;
      case 'function':
        if (!writeReference(writer, value, this.#references))
          throw new Refused(value, 'a function');
        return;
      case 'symbol':
        throw new Refused(value, 'a symbol');
      default:
        writePrimitive(writer, value);
    }
  }

  /** Records an object. In a graph, writes the number of a repeated one and returns true. */
  #isRepeated(writer: Writer, value: object): boolean {
    if (this.#graph !== undefined) {
      const number = this.#graph.get(value);
      if (number === undefined) {
        this.#graph.set(value, this.#graph.size);
        return false;
      }
      writer.byte(tags.repeatTag);
      writer.varint(number);
      return true;
    }
    const count = this.#count;
    if (count === MAX_LISTED) {
      this.#addToSet(value);
      return false;
    }
    const objects = this.#objects;
    for (let index = 0; index < count; index += 1) if (objects[index] === value) throw REPEATED;
    objects[count] = value;
    this.#count = count + 1;
    return false;
  }

  #addToSet(value: object): void {
    this.#objectSet ??= new Set(this.#objects as object[]);
    const { size } = this.#objectSet;
    if (this.#objectSet.add(value).size === size) throw REPEATED;
  }

  #object(writer: Writer, value: object, own: boolean): void {
    this.#enter();
    if (!this.#shapes.write(writer, value as Record<string, unknown>, this, own)) {
      writer.byte(tags.keyedTag);
      this.writeProperties(writer, value);
    }
    this.#depth--;
  }

  #enter(): void {
    if (++this.#depth > MAX_DEPTH) throw tooDeep;
  }

  /** Ends with {@link tags.endTag} instead of a count, because a getter may delete a later key. */
  writeProperties(writer: Writer, value: object): void {
    this.#properties(writer, value, Object.keys(value));
  }

  #properties(writer: Writer, value: object, keys: readonly string[]): void {
    for (const key of keys) {
      const property = (value as Record<string, unknown>)[key];
      if (property === undefined && !Object.hasOwn(value, key)) continue;
      writer.byte(tags.stringTag);
      writer.string(key);
      this.write(writer, property);
    }
    writer.byte(tags.endTag);
  }

  #array(writer: Writer, value: readonly unknown[]): void {
    this.#enter();
    const keys = Object.keys(value);
    // The keys of elements precede all others.
    let elements = keys.length;
    while (elements > 0 && !isIndex(keys[elements - 1] as string)) elements--;
    if (elements === keys.length) {
      this.#elements(writer, value);
    } else {
      writer.byte(tags.namedTag);
      this.#elements(writer, value);
      this.#properties(writer, value, keys.slice(elements));
    }
    this.#depth--;
  }

  #elements(writer: Writer, value: readonly unknown[]): void {
    const { length } = value;
    if (length > 0 && typeof value[0] === 'number' && this.#numbers(writer, value)) return;
    writer.byte(tags.arrayTag);
    writer.varint(length);
    for (let index = 0; index < length; index += 1) {
      const item = value[index];
      if (item === undefined && !Object.hasOwn(value, index)) {
        this.#rest(writer, value, index);
        return;
      }
      this.write(writer, item);
    }
  }

  /** Writes an array of numbers only, as one run. Returns false, and writes nothing, for any other. */
  #numbers(writer: Writer, value: readonly unknown[]): boolean {
    const { length } = value;
    // Checked before space is reserved: the array may be long but empty.
    for (let index = 0; index < length; index += 1) {
      if (typeof value[index] !== 'number') return false;
    }
    writer.reserve(16 + 8 * length);
    const begin = writer.position;
    writer.u8[begin] = tags.numbersTag;
    writer.position = begin + 1;
    writer.varint(length);
    writer.align();
    const { f64 } = writer;
    const first = writer.position >> 3;
    for (let index = 0; index < length; index += 1) f64[first + index] = value[index] as number;
    writer.position += 8 * length;
    return true;
  }

  #rest(writer: Writer, value: readonly unknown[], from: number): void {
    writer.byte(tags.sparseTag);
    for (const key of Object.keys(value)) {
      const index = Number(key);
      if (!isIndex(key) || index < from) continue;
      writer.byte(tags.integerTag);
      writer.varint(index);
      this.write(writer, value[index]);
    }
    writer.byte(tags.endTag);
  }

  #special(writer: Writer, value: object): void {
    if (isForeign(value) && writeReference(writer, value, this.#references)) return;
    if (writeByMessage(writer, value, this.#references)) return;
    refuseOpaque(value);
    if (this.#isRepeated(writer, value)) return;
    const kind = kindOf(value);
    if (kind === 'plain') {
      this.#object(writer, value, true);
    } else if (kind === 'array') {
      this.#array(writer, value as readonly unknown[]);
    } else {
      this.#enter();
      this.#builtIn(writer, value, kind);
      this.#depth--;
    }
  }

  #builtIn(writer: Writer, value: object, kind: Kind): void {
    switch (kind) {
      case 'view':
        refuseDetached(value);
        this.#view(writer, value as ArrayBufferView);
        return;
      case 'date':
        writer.byte(tags.dateTag);
        writer.double(Date.prototype.getTime.call(value));
        return;
      case 'regexp':
        writer.byte(tags.regexpTag);
        writer.string((value as RegExp).source);
        writer.string((value as RegExp).flags);
        return;
      case 'map':
        writer.byte(tags.mapTag);
        Map.prototype.forEach.call(value, (item, key) => {
          this.write(writer, key);
          this.write(writer, item);
        });
        writer.byte(tags.endTag);
        return;
      case 'set':
        writer.byte(tags.setTag);
        Set.prototype.forEach.call(value, (item) => this.write(writer, item));
        writer.byte(tags.endTag);
        return;
      case 'buffer':
        refuseDetached(value);
        writer.byte(tags.bufferTag);
        writer.bytes(new Uint8Array(value as ArrayBuffer));
        return;
      case 'error':
        writer.byte(tags.errorTag);
        this.#uncloneable ??= new UncloneableSearch();
        writeError(writer, value as Error, this, this.#uncloneable);
        return;
      case 'boxed':
        writer.byte(tags.boxedTag);
        this.write(writer, (value as { valueOf(): unknown }).valueOf());
        return;
      case 'geometry':
        writer.byte(tags.geometryTag);
        writeGeometry(writer, value);
    }
  }

  #view(writer: Writer, view: ArrayBufferView): void {
    if (writeBytes(writer, view)) return;
    writer.byte(tags.viewTag);
    writer.byte(viewNumber(view));
    writer.bytes(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  }
}

/** Thrown when a value has more than {@link MAX_DEPTH} levels. */
const tooDeep = Symbol('too deep');

/** Converts an error that was thrown inside a nested value. */
function toCallerError(root: unknown, error: unknown): unknown {
  if (error instanceof Refused) return refusal(root, error);
  if (error !== tooDeep) return error;
  try {
    survey(root, []);
  } catch (counted) {
    return counted;
  }
  // `survey` counts the levels of the shortest path to each object. The encoder has followed a longer path.
  return new DataCloneError(
    `value cannot be cloned: it is nested more than ${MAX_DEPTH} levels deep`,
  );
}

/** Whether an object literal may be an iterator or an async iterable, which the bridge may pass. */
function isIterable(value: object): boolean {
  const { [asyncIterator]: later, [iterator]: now } = value as Iterables;
  return later !== undefined || now !== undefined;
}

function refuseDetached(value: object): void {
  if (isDetached(value)) throw new Refused(value, 'a buffer that was moved before');
}

function isIndex(key: string): boolean {
  const index = Number(key);
  return index >= 0 && index < 2 ** 32 - 1 && String(index) === key;
}

function hasKeys(value: object): boolean {
  for (const _ in value) return true;
  return false;
}

/** Up to 64 bits in binary, more as hexadecimal digits. */
function writeBigint(writer: Writer, value: bigint): void {
  if (BigInt.asIntN(64, value) === value) {
    writer.byte(8);
    writer.reserve(8);
    writer.view.setBigInt64(writer.position, value, true);
    writer.position += 8;
  } else {
    writer.byte(value < 0n ? 1 : 0);
    writer.string((value < 0n ? -value : value).toString(16));
  }
}
