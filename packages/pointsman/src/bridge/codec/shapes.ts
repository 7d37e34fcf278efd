/**
 * Shapes: the ordered keys of an object, and which of its values are numbers. Both sides keep a table of shapes. An
 * object of a known shape is sent as the number of the shape and its values: first the numbers as one aligned run, then
 * the others in key order.
 *
 * Invariants:
 * - A definition contains its number and replaces the shape with that number. So the writer may forget a shape that the
 *   reader knows, but never use one that the reader does not know.
 * - A getter cannot make a message disagree with its shape: all numbers are read and checked before the object is
 *   committed to the message, and each other value is read when it is written.
 */

import type { Reader } from '../ring/reader.js';
import { CorruptMessageError } from '../ring/reader.js';
import type { Writer } from '../ring/writer.js';
import * as tags from './tags.js';

/** The number of a shape is one byte. */
const MAX_SHAPES = 256;
/** Objects with more keys are dictionaries, too large to compile. */
const MAX_KEYS = 64;
/** Bounds memory: at this number of nodes, paths that lead to no shape are dropped. */
const MAX_NODES = 4096;
/** Uses after which a shape is compiled: earlier it does not pay. Measured by the lab's row `a 1 kB object`. */
const USES_TO_COMPILE = 8;

let compiles: boolean | undefined;

/** Content security policies and some runtimes forbid `new Function`; a loop replaces it there. */
function mayCompile(): boolean {
  if (compiles === undefined) {
    try {
      new Function('');
      compiles = true;
    } catch {
      compiles = false;
    }
  }
  return compiles;
}

export interface ValueWriter {
  write(writer: Writer, value: unknown): void;
}

export interface ValueReader {
  read(reader: Reader): unknown;
}

type Fields = Record<string, unknown>;

/** A node of the trie of key sequences. The node after an object's last key has its shape. */
class Node {
  key: string | undefined;
  next: Node | undefined;
  readonly others = new Map<string, Node>();
  shape: WrittenShape | undefined;
  /** Whether the keys of an earlier object ended here. */
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

  /** Writes the object, or returns false if its numeric keys differ from those of the shape. */
  write(writer: Writer, value: Fields, values: ValueWriter): boolean {
    if (this.#compiled !== undefined) return this.#compiled(writer, value, values);
    this.#uses += 1;
    if (this.#uses === USES_TO_COMPILE && mayCompile()) {
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

export class WrittenShapes {
  #shapes: WrittenShape[] = [];
  /** The number of shapes that earlier messages defined. */
  #sent = 0;
  #root = new Node(0);
  #nodes = 0;

  /** Begins a message: the reader knows all shapes that were defined so far. */
  begin(): void {
    this.#sent = this.#shapes.length;
    if (this.#nodes >= MAX_NODES && this.#shapes.length < MAX_SHAPES) this.#prune();
  }

  /** Forgets the shapes that the current message defined. */
  abandon(): void {
    while (this.#shapes.length > this.#sent) {
      const shape = this.#shapes.pop() as WrittenShape;
      shape.node.shape = shape.before;
    }
  }

  /**
   * Writes an object by its shape, which it defines if an earlier object had the same keys. Otherwise returns false.
   * `own`: excludes inherited keys.
   */
  write(writer: Writer, value: Fields, values: ValueWriter, own: boolean): boolean {
    let node: Node | undefined = this.#root;
    if (own) {
      for (const key of Object.keys(value)) {
        node = node.key === key ? node.next : this.#step(node, key);
        if (node === undefined) return false;
      }
    } else {
      // Unlike the loop above, this one allocates no list of keys.
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
      if (node.depth === MAX_KEYS || this.#nodes >= MAX_NODES) return undefined;
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
    if (this.#shapes.length === MAX_SHAPES) return false;
    const before = node.shape;
    const keys = before?.keys ?? Object.keys(value);
    // A key that had another type once is never numeric again, which limits the shapes per key sequence.
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
    if (this.#uses === USES_TO_COMPILE && mayCompile()) {
      this.#compiled = compileRead(this.keys, this.numeric);
    }
    return this.fill(this.blank(), reader, values);
  }

  blank(): Fields {
    const value: Fields = {};
    for (const key of this.keys) define(value, key, undefined);
    return value;
  }

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

/** Defines an own property, if the object allows it. */
export function define(value: object, key: string, property: unknown): void {
  // An inherited property may be a setter or read-only.
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

/** In a literal, a plain `__proto__` key would set the prototype. */
function literalKey(key: string): string {
  return key === '__proto__' ? '["__proto__"]' : JSON.stringify(key);
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
  if (number > shapes.length) throw new CorruptMessageError(`shape ${number} is out of sequence`);
  shapes[number] = new ReadShape(keys, numeric);
}
