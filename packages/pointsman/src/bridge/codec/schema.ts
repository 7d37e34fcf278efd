/**
 * What a schema is, what fits it, and where the values of a record are.
 *
 * Invariant: the layout depends on the schema only. So a side that may not compile source text, and goes
 * through the schema instead, understands one that may.
 *
 * A record is a block at a multiple of 8: its doubles, its integers, its bits, each with those of the
 * records inside of it; then what has no fixed size, in the order of the keys. A bit is a boolean, or says
 * whether an optional value is there.
 */

import { invalid } from '../../sync/errors.js';
import { member } from '../../transport/clone-errors.js';
import type { Reader } from '../ring/reader.js';
import type { Writer } from '../ring/writer.js';

/** What a value must be. */
export interface Schema<Value = unknown> {
  readonly kind: Kind;
  /** Of a list or an optional value: of what. */
  readonly of?: Schema;
  /** Of a record. */
  readonly fields?: Readonly<Record<string, Schema>>;
  /** Never there: the compiler infers the values from it. */
  readonly value?: { is(value: Value): void };
}

export type Kind = 'f64' | 'i32' | 'bool' | 'string' | 'bytes' | 'list' | 'record' | 'optional';

/** Thrown where a value is not as its schema says; `violation` finds out where and how. */
export const mismatch = Symbol('mismatch');

export type Write = (writer: Writer, value: unknown) => void;
export type Read = (reader: Reader) => unknown;

const expectations: Readonly<Record<Exclude<Kind, 'optional'>, string>> = {
  f64: 'a number',
  i32: 'an integer from -2147483648 to 2147483647',
  bool: 'a boolean',
  string: 'a string',
  bytes: 'a Uint8Array',
  list: 'an array',
  record: 'an object',
};

/** Whether the value itself is right, not what is in it. */
export function fits(kind: Kind, value: unknown): boolean {
  switch (kind) {
    case 'f64':
      return typeof value === 'number';
    case 'i32':
      return typeof value === 'number' && (value | 0) === value;
    case 'bool':
      return typeof value === 'boolean';
    case 'string':
      return typeof value === 'string';
    case 'bytes':
      return value instanceof Uint8Array;
    case 'list':
      return Array.isArray(value);
    case 'record':
      return typeof value === 'object' && value !== null;
    case 'optional':
      return true;
  }
}

export function violation(schema: Schema, value: unknown, path: string): Error {
  return (
    findViolation(schema, value, path) ??
    new TypeError(`${path} must not change while it is written`)
  );
}

function findViolation(schema: Schema, value: unknown, path: string): Error | undefined {
  const { kind, of } = schema;
  if (kind === 'optional') {
    return value === undefined ? undefined : findViolation(of as Schema, value, path);
  }
  if (!fits(kind, value)) {
    return invalid(path, value, expectations[kind], kind === 'i32' ? 'number' : undefined);
  }
  if (kind === 'list') {
    const items = value as readonly unknown[];
    for (let index = 0; index < items.length; index += 1) {
      const found = findViolation(of as Schema, items[index], `${path}[${index}]`);
      if (found) return found;
    }
  }
  for (const [key, field] of Object.entries(schema.fields ?? {})) {
    const inside = (value as Record<string, unknown>)[key];
    const found = findViolation(field, inside, path + member(key, false));
    if (found) return found;
  }
  return undefined;
}

/** A value of a record, or of a record inside of it. */
export interface Leaf {
  readonly path: readonly string[];
  readonly schema: Schema;
  /** What it is called in source text. */
  readonly variable: string;
}

/** Where the values of a record are. */
export interface Layout {
  readonly doubles: readonly Leaf[];
  readonly integers: readonly Leaf[];
  readonly bits: readonly Leaf[];
  readonly rest: readonly Leaf[];
  /** Bytes of all but the rest. */
  readonly size: number;
}

export function layoutOf(leaves: readonly Leaf[]): Layout {
  const of = (...kinds: Kind[]) => leaves.filter((leaf) => kinds.includes(leaf.schema.kind));
  const doubles = of('f64');
  const integers = of('i32');
  const bits = of('bool', 'optional');
  return {
    doubles,
    integers,
    bits,
    rest: of('string', 'bytes', 'list', 'optional'),
    size: 8 * doubles.length + 4 * integers.length + Math.ceil(bits.length / 8),
  };
}

export function leavesOf(schema: Schema, path: readonly string[], prefix: string): Leaf[] {
  return Object.entries(schema.fields ?? {}).flatMap(([key, field], index) => {
    const variable = `${prefix}_${index}`;
    const inside = [...path, key];
    if (field.kind === 'record') return leavesOf(field, inside, variable);
    return [{ path: inside, schema: field, variable }];
  });
}
