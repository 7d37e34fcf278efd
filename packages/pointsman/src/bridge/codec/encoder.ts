/**
 * How values become bytes of a message: everything that structured clone takes and that can be told in bytes.
 *
 * Invariants:
 * - The same object twice is the same object twice on the other side, and cycles stay cycles. A value in
 *   which no object is met twice is written as a tree, which is all that most values pay. When an object is
 *   met again, the value is written once more from its beginning, as a graph.
 * - The encoder and the decoder at the other end learn from each other, so messages are decoded in the order
 *   in which they were encoded, each exactly once. A message that is not sent leaves no trace: see
 *   {@link Encoder.abandon}.
 *
 * Where it differs from structured clone: views are copied by what they show, each with a buffer of its own;
 * errors keep their own properties; and the depth of a value is bounded, so that any thread can read it.
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

/** So many objects are compared one by one: the row `one blocking call` makes no table. */
const few = 24;

/** Has no keys but those that are inherited. */
const empty = {};

/** Thrown where an object is met again, to begin anew. */
const again = Symbol('again');

export class Encoder {
  readonly #references: ValueReferences;
  readonly #shapes = new WrittenShapes();
  /** The objects of this value so far, as long as they are few. */
  readonly #objects: (object | undefined)[] = new Array(few).fill(undefined);
  #count = 0;
  /** All of them, once they are many. */
  #many: Set<object> | undefined;
  /** Their numbers, if the value is written as a graph. */
  #graph: Map<object, number> | undefined;
  /** The number of objects that enclose the current one. */
  #depth = 0;
  /** Which properties of the errors in this value cannot be passed on. */
  #uncloneable: UncloneableSearch | undefined;
  /** Whether all objects inherit properties that a loop over their keys would meet. */
  #polluted = false;
  #busy = false;
  /** The message that was last written to, and how far. */
  #writer: Writer | undefined;
  #message = 0;
  #end = 0;

  constructor(references: ValueReferences) {
    this.#references = references;
  }

  /** Writes a value; when it throws, it has forgotten what the message taught it. */
  encode(writer: Writer, value: unknown): void {
    try {
      if (writePrimitive(writer, value)) return;
    } catch (error) {
      this.#shapes.abandon();
      throw error;
    }
    if (this.#busy) throw new Error('a getter of the value that is encoded must not send anything');
    if (writer.messages !== this.#message || writer !== this.#writer) {
      this.#writer = writer;
      this.#message = writer.messages;
      this.#shapes.begin();
    } else if (writer.length < this.#end) {
      // What was written last is overwritten, and its definitions with it.
      this.#shapes.abandon();
    }
    const begin = writer.length;
    this.#busy = true;
    this.#polluted = hasKeys(empty);
    try {
      this.write(writer, value);
    } catch (error) {
      this.#shapes.abandon();
      this.#forget();
      if (error !== again) throw explained(value, error);
      this.#encodeGraph(writer, value, begin);
    }
    this.#forget();
    this.#end = writer.length;
  }

  /** Holds on to nothing of the value. */
  #forget(): void {
    for (let index = 0; index < this.#count; index += 1) this.#objects[index] = undefined;
    this.#count = 0;
    this.#many = undefined;
    this.#uncloneable = undefined;
    this.#depth = 0;
    this.#busy = false;
  }

  /** The message that is open in the writer will not be sent, for a reason that is none of the encoder's. */
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
      throw explained(value, error);
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
          if (!this.#metBefore(writer, value)) this.#object(writer, value, this.#polluted);
        } else if (Array.isArray(value) && !isForeign(value)) {
          if (!this.#metBefore(writer, value)) this.#array(writer, value);
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

  /** Takes note of an object. In a graph, one that was met before is written as its number. */
  #metBefore(writer: Writer, value: object): boolean {
    if (this.#graph !== undefined) {
      const number = this.#graph.get(value);
      if (number === undefined) {
        this.#graph.set(value, this.#graph.size);
        return false;
      }
      writer.byte(tags.againTag);
      writer.varint(number);
      return true;
    }
    const count = this.#count;
    if (count === few) {
      this.#note(value);
      return false;
    }
    const objects = this.#objects;
    for (let index = 0; index < count; index += 1) if (objects[index] === value) throw again;
    objects[count] = value;
    this.#count = count + 1;
    return false;
  }

  #note(value: object): void {
    this.#many ??= new Set(this.#objects as object[]);
    const { size } = this.#many;
    if (this.#many.add(value).size === size) throw again;
  }

  #object(writer: Writer, value: object, own: boolean): void {
    this.#enter();
    if (!this.#shapes.write(writer, value as Record<string, unknown>, this, own)) {
      writer.byte(tags.keyedTag);
      this.writeProperties(writer, value);
    }
    this.#depth--;
  }

  /** Called before the contents of an object are written. */
  #enter(): void {
    if (++this.#depth > MAX_DEPTH) throw tooDeep;
  }

  /** Up to {@link tags.endTag}, since a getter may have taken a key away until its turn comes. */
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
    // Elements come first.
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

  /** Whether there are only numbers in it, which are then written as one run. */
  #numbers(writer: Writer, value: readonly unknown[]): boolean {
    const { length } = value;
    // Whoever says that it is long may have nothing in it.
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
    if (this.#metBefore(writer, value)) return;
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

/** The error for the caller, made from an error thrown inside a nested value. */
function explained(root: unknown, error: unknown): unknown {
  if (error instanceof Refused) return refusal(root, error);
  if (error !== tooDeep) return error;
  try {
    // Throws an error that states the depth.
    survey(root, []);
  } catch (counted) {
    return counted;
  }
  // `survey` counts the levels of the shortest path to each object. The encoder has followed a longer path.
  return new DataCloneError(
    `value cannot be cloned: it is nested more than ${MAX_DEPTH} levels deep`,
  );
}

function refuseDetached(value: object): void {
  if (isDetached(value)) throw new Refused(value, 'a buffer that was moved before');
}

/** Whether the key is the index of an array element. */
function isIndex(key: string): boolean {
  const index = Number(key);
  return index >= 0 && index < 2 ** 32 - 1 && String(index) === key;
}

function hasKeys(value: object): boolean {
  for (const _ in value) return true;
  return false;
}

/** Up to 64 bits as they are, more as digits. */
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
