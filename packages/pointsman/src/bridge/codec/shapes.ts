/**
 * Shapes: the keys of an object in their order, and which of its values are numbers. Both sides keep a
 * table of them, so an object of a known shape is sent as a number and its values: first the numbers, as
 * one aligned run, then the others in the order of their keys.
 *
 * Invariants: a definition names the number that it defines, and replaces what was there. So to forget a
 * shape that the other side knows is harmless; to remember one that it does not know would not be. What
 * is read of an object is read before anything of it is written, or written at once: a getter cannot make
 * the message disagree with the shape.
 */

import type { Reader } from '../ring/reader.js';
import { CorruptMessageError } from '../ring/reader.js';
import type { Writer } from '../ring/writer.js';
import { literalKey, mayCompile } from './compile.js';
import * as tags from './tags.js';

/** The number of a shape is one byte. */
const mostShapes = 256;
/** Objects with more keys are tables of their user's, rather than records: none compiles functions so large. */
const mostKeys = 64;
/** Keys on all paths that were seen: beyond that what led to no shape is dropped, so memory stays bounded. */
const mostNodes = 4096;
/** What is used less often is not worth compiling; what is used more often wins the row `a 1 kB object`. */
const usesToCompile = 8;

/** What writes values of any kind. */
export interface ValueWriter {
  write(writer: Writer, value: unknown): void;
}

/** What reads values of any kind. */
export interface ValueReader {
  read(reader: Reader): unknown;
}

type Fields = Record<string, unknown>;

/** A place on the paths of keys. The one at the end of an object's keys knows its shape. */
class Node {
  /** The key that was last gone by, and where to. */
  key: string | undefined;
  next: Node | undefined;
  readonly others = new Map<string, Node>();
  shape: WrittenShape | undefined;
  /** Whether an object ended here before. */
  seen = false;

  constructor(readonly depth: number) {}
}

type Write = (writer: Writer, value: Fields, values: ValueWriter) => boolean;

class WrittenShape {
  #uses = 0;
  #compiled: Write | undefined;

  constructor(
    readonly number: number,
    readonly keys: readonly string[],
    readonly numeric: readonly boolean[],
    readonly node: Node,
    readonly before: WrittenShape | undefined,
  ) {}

  /** Whether the object has numbers where the shape has: else nothing is written. */
  write(writer: Writer, value: Fields, values: ValueWriter): boolean {
    if (this.#compiled !== undefined) return this.#compiled(writer, value, values);
    this.#uses += 1;
    if (this.#uses === usesToCompile && mayCompile()) {
      this.#compiled = compileWrite(this.number, this.keys, this.numeric);
    }
    return this.#loop(writer, value, values);
  }

  #loop(writer: Writer, value: Fields, values: ValueWriter): boolean {
    const { keys, numeric } = this;
    writer.reserve(16 + 8 * keys.length);
    const { u8, f64, position } = writer;
    u8[position] = tags.shapeTag;
    u8[position + 1] = this.number;
    const first = (position + 9) >> 3;
    let index = first;
    for (let each = 0; each < keys.length; each += 1) {
      if (!numeric[each]) continue;
      const number = value[keys[each] as string];
      if (typeof number !== 'number') return false;
      f64[index] = number;
      index += 1;
    }
    writer.position = index === first ? position + 2 : index << 3;
    for (let each = 0; each < keys.length; each += 1) {
      if (!numeric[each]) values.write(writer, value[keys[each] as string]);
    }
    return true;
  }
}

function compileWrite(number: number, keys: readonly string[], numeric: readonly boolean[]): Write {
  const own = keys.map((key) => `value[${JSON.stringify(key)}]`);
  const numbers = own.filter((_, index) => numeric[index]);
  const others = own.filter((_, index) => !numeric[index]);
  const lines = [
    ...numbers.map((each, index) => `const n${index} = ${each};`),
    ...numbers.map((_, index) => `if (typeof n${index} !== 'number') return false;`),
    `writer.reserve(${16 + 8 * numbers.length});`,
    'const { u8, f64, position } = writer;',
    `u8[position] = ${tags.shapeTag};`,
    `u8[position + 1] = ${number};`,
    'const at = (position + 9) >> 3;',
    ...numbers.map((_, index) => `f64[at + ${index}] = n${index};`),
    `writer.position = ${numbers.length === 0 ? 'position + 2' : `(at + ${numbers.length}) << 3`};`,
    ...others.map((each) => `values.write(writer, ${each});`),
    'return true;',
  ];
  return new Function('writer', 'value', 'values', lines.join('\n')) as Write;
}

/** The shapes of one direction, at the side that writes. */
export class WrittenShapes {
  #shapes: WrittenShape[] = [];
  /** How many of them the messages before this one defined. */
  #sent = 0;
  #root = new Node(0);
  #nodes = 0;

  /** A message begins: what was defined so far is known to the other side. */
  begin(): void {
    this.#sent = this.#shapes.length;
    if (this.#nodes >= mostNodes && this.#shapes.length < mostShapes) this.#prune();
  }

  /** The message is not sent: what it defined is unknown. */
  abandon(): void {
    while (this.#shapes.length > this.#sent) {
      const shape = this.#shapes.pop() as WrittenShape;
      shape.node.shape = shape.before;
    }
  }

  /**
   * Writes an object by its shape, which is defined if its keys were seen before. Otherwise it writes
   * nothing and is false. With `own`, keys that the object inherits are not its keys.
   */
  write(writer: Writer, value: Fields, values: ValueWriter, own: boolean): boolean {
    let node: Node | undefined = this.#root;
    if (own) {
      for (const key of Object.keys(value)) {
        node = node.key === key ? node.next : this.#step(node, key);
        if (node === undefined) return false;
      }
    } else {
      // Unlike the loop above, this one makes no list of the keys.
      for (const key in value) {
        node = node.key === key ? node.next : this.#step(node, key);
        if (node === undefined) return false;
      }
    }
    const { shape } = node as Node;
    if (shape?.write(writer, value, values)) return true;
    return this.#define(writer, value, values, node as Node);
  }

  #step(node: Node, key: string): Node | undefined {
    let next = node.others.get(key);
    if (next === undefined) {
      if (node.depth === mostKeys || this.#nodes >= mostNodes) return undefined;
      next = new Node(node.depth + 1);
      node.others.set(key, next);
      this.#nodes += 1;
    }
    node.key = key;
    node.next = next;
    return next;
  }

  #define(writer: Writer, value: Fields, values: ValueWriter, node: Node): boolean {
    if (!node.seen) {
      node.seen = true;
      return false;
    }
    if (this.#shapes.length === mostShapes) return false;
    const before = node.shape;
    const keys = before?.keys ?? Object.keys(value);
    // What was no number once is not expected to be one again: so there are few shapes of the same keys.
    const numeric = keys.map(
      (key, index) => before?.numeric[index] !== false && typeof value[key] === 'number',
    );
    const shape = new WrittenShape(this.#shapes.length, keys, numeric, node, before);
    this.#shapes.push(shape);
    node.shape = shape;
    writer.byte(tags.defineTag);
    writer.byte(shape.number);
    writer.varint(keys.length);
    for (let index = 0; index < keys.length; index += 1) {
      writer.string(keys[index] as string);
      writer.byte(numeric[index] ? 1 : 0);
    }
    return shape.write(writer, value, values);
  }

  #prune(): void {
    this.#root = new Node(0);
    this.#nodes = 0;
    for (const shape of this.#shapes) {
      let node = this.#root;
      for (const key of shape.keys) node = this.#step(node, key) as Node;
      node.seen = true;
      node.shape = shape;
    }
  }
}

type Read = (reader: Reader, values: ValueReader) => Fields;

/** A shape, at the side that reads. */
export class ReadShape {
  #uses = 0;
  #compiled: Read | undefined;
  readonly #numbers: number;

  constructor(
    readonly keys: readonly string[],
    readonly numeric: readonly boolean[],
  ) {
    this.#numbers = numeric.filter(Boolean).length;
  }

  read(reader: Reader, values: ValueReader): Fields {
    if (this.#compiled !== undefined) return this.#compiled(reader, values);
    this.#uses += 1;
    if (this.#uses === usesToCompile && mayCompile()) {
      this.#compiled = compileRead(this.keys, this.numeric);
    }
    return this.fill(this.blank(), reader, values);
  }

  /** An object with the keys in their order. */
  blank(): Fields {
    const value: Fields = {};
    for (const key of this.keys) define(value, key, undefined);
    return value;
  }

  /** Gives the object its values. */
  fill(value: Fields, reader: Reader, values: ValueReader): Fields {
    const { keys, numeric } = this;
    if (this.#numbers > 0) {
      reader.align();
      reader.need(8 * this.#numbers);
      let index = reader.position >> 3;
      for (let each = 0; each < keys.length; each += 1) {
        if (!numeric[each]) continue;
        value[keys[each] as string] = reader.f64[index];
        index += 1;
      }
      reader.position = index << 3;
    }
    for (let each = 0; each < keys.length; each += 1) {
      if (!numeric[each]) value[keys[each] as string] = values.read(reader);
    }
    return value;
  }
}

/** Makes it a property of its own, whatever the object inherits, and if the object allows it. */
export function define(value: object, key: string, property: unknown): void {
  // A name that is inherited may be a setter, or frozen.
  if (key in value) {
    Reflect.defineProperty(value, key, {
      value: property,
      configurable: true,
      enumerable: true,
      writable: true,
    });
  } else {
    (value as Fields)[key] = property;
  }
}

function compileRead(keys: readonly string[], numeric: readonly boolean[]): Read {
  let numbers = 0;
  const members = keys.map((key, index) => {
    const member = numeric[index] ? `f64[at + ${numbers++}]` : 'values.read(reader)';
    return `${literalKey(key)}: ${member},`;
  });
  const lines = [
    ...(numbers === 0
      ? []
      : [
          'reader.align();',
          `reader.need(${8 * numbers});`,
          'const { f64, position } = reader;',
          'const at = position >> 3;',
          `reader.position = position + ${8 * numbers};`,
        ]),
    `return { ${members.join(' ')} };`,
  ];
  return new Function('reader', 'values', lines.join('\n')) as Read;
}

/** Reads the definition of a shape into the table. */
export function readShape(reader: Reader, shapes: ReadShape[]): void {
  const number = reader.byte();
  const length = reader.varint();
  reader.need(length);
  const keys: string[] = [];
  const numeric: boolean[] = [];
  for (let index = 0; index < length; index += 1) {
    keys.push(reader.string());
    numeric.push(reader.byte() === 1);
  }
  if (number > shapes.length) throw new CorruptMessageError(`shape ${number} comes too early`);
  shapes[number] = new ReadShape(keys, numeric);
}
