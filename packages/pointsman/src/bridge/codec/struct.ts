/**
 * Values of a known schema, written without tags or names.
 *
 * Invariant: what is read is what the schema says, whatever was given, since all of it is checked before
 * the message is sent.
 *
 * Measured, in and out, beside the structured codec (Node 20, two busy cores): a rectangle of eight doubles
 * 27 ns beside 85; a record of five fields 87 ns beside 180; 10,000 of them 1.5 ms beside 3.0.
 */

import type { Reader } from '../ring/reader.js';
import type { Writer } from '../ring/writer.js';
import { mayCompile } from './compile.js';
import { mismatch, type Schema, violation } from './schema.js';
import { compileRead, compileWrite } from './struct-source.js';
import { reads, writes } from './struct-walk.js';

export type { Schema } from './schema.js';

/** What a schema describes. */
export type Infer<S> = S extends Schema<infer Value> ? Value : never;

type Fields = Readonly<Record<string, Schema>>;

type OptionalKeys<F extends Fields> = {
  [Key in keyof F]: undefined extends Infer<F[Key]> ? Key : never;
}[keyof F];

type InferFields<F extends Fields> = Flat<
  { [Key in Exclude<keyof F, OptionalKeys<F>>]: Infer<F[Key]> } & {
    [Key in OptionalKeys<F>]?: Infer<F[Key]>;
  }
>;

type Flat<Value> = { [Key in keyof Value]: Value[Key] };

/** A number. */
export const f64: Schema<number> = { kind: 'f64' };
/** An integer from -2 ** 31 to 2 ** 31 - 1. */
export const i32: Schema<number> = { kind: 'i32' };
export const bool: Schema<boolean> = { kind: 'bool' };
export const string: Schema<string> = { kind: 'string' };
export const bytes: Schema<Uint8Array> = { kind: 'bytes' };

export function list<Item>(of: Schema<Item>): Schema<Item[]> {
  return { kind: 'list', of: of as Schema };
}

/** An object with these keys. Others that it has are not sent. */
export function record<const F extends Fields>(fields: F): Schema<InferFields<F>> {
  return { kind: 'record', fields: { ...fields } };
}

/** A value that may be `undefined`, or missing in a record. It is read as `undefined`. */
export function optional<Value>(of: Schema<Value>): Schema<Value | undefined> {
  return of.kind === 'optional' ? of : { kind: 'optional', of: of as Schema };
}

/** What writes and reads values of one schema. */
export interface Compiled<Value> {
  write(writer: Writer, value: Value): void;
  read(reader: Reader): Value;
}

/** The name is what errors call the value. */
export function compile<Value>(schema: Schema<Value>, name = 'value'): Compiled<Value> {
  const plain = schema as Schema;
  const write = mayCompile() ? compileWrite(plain) : writes(plain);
  const read = mayCompile() ? compileRead(plain) : reads(plain);
  return {
    write(writer, value) {
      try {
        write(writer, value);
      } catch (error) {
        throw error === mismatch ? violation(plain, value, name) : error;
      }
    },
    read: read as (reader: Reader) => Value,
  };
}
