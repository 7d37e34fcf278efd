/**
 * Schemas as source text: one function that writes a value and one that reads it, with all names and
 * places spelled out.
 *
 * Invariant: keys of the user stand in the text as string literals only.
 */

import { literalKey } from './compile.js';
import {
  type Kind,
  layoutOf,
  leavesOf,
  mismatch,
  type Read,
  type Schema,
  type Write,
} from './schema.js';

/** What `fits` checks, as source text. */
function fitsText(kind: Kind, value: string): string {
  switch (kind) {
    case 'f64':
      return `typeof ${value} === 'number'`;
    case 'i32':
      return `(${value} | 0) === ${value}`;
    case 'bool':
      return `typeof ${value} === 'boolean'`;
    case 'string':
      return `typeof ${value} === 'string'`;
    case 'bytes':
      return `${value} instanceof Uint8Array`;
    case 'list':
      return `Array.isArray(${value})`;
    case 'record':
      return `typeof ${value} === 'object' && ${value} !== null`;
    case 'optional':
      return 'true';
  }
}

/** Statements, and names for what they declare. */
class Source {
  readonly lines: string[] = [];
  #names = 0;

  add(...lines: string[]): void {
    this.lines.push(...lines);
  }

  name(): string {
    this.#names += 1;
    return `v${this.#names}`;
  }
}

export function compileWrite(schema: Schema): Write {
  const source = new Source();
  addCheck(source, schema, 'value');
  addWrite(source, schema, 'value');
  const body = `return (writer, value) => {\n${source.lines.join('\n')}\n};`;
  return new Function('mismatch', body)(mismatch) as Write;
}

function addCheck(source: Source, { kind }: Schema, value: string): void {
  if (kind !== 'optional') source.add(`if (!(${fitsText(kind, value)})) throw mismatch;`);
}

/** Of a value that is checked already. */
function addWrite(source: Source, schema: Schema, value: string): void {
  switch (schema.kind) {
    case 'f64':
      source.add(`writer.double(${value});`);
      return;
    case 'i32':
      source.add(`writer.i32(${value});`);
      return;
    case 'bool':
      source.add(`writer.byte(${value} ? 1 : 0);`);
      return;
    case 'string':
      source.add(`writer.string(${value});`);
      return;
    case 'bytes':
      source.add(`writer.bytes(${value});`);
      return;
    case 'optional':
      source.add(`writer.byte(${value} === undefined ? 0 : 1);`);
      addWritePresent(source, schema, value);
      return;
    case 'list':
      addWriteList(source, schema.of as Schema, value);
      return;
    case 'record':
      addWriteRecord(source, schema, value);
  }
}

function addWritePresent(source: Source, { of }: Schema, value: string): void {
  source.add(`if (${value} !== undefined) {`);
  addCheck(source, of as Schema, value);
  addWrite(source, of as Schema, value);
  source.add('}');
}

function addWriteList(source: Source, of: Schema, value: string): void {
  const [length, index, item] = [source.name(), source.name(), source.name()];
  source.add(`const ${length} = ${value}.length;`, `writer.varint(${length});`);
  const loop = `for (let ${index} = 0; ${index} < ${length}; ${index} += 1) {`;
  if (of.kind === 'f64') {
    const [f64, at] = [source.name(), source.name()];
    source.add(
      `writer.reserve(8 + 8 * ${length});`,
      'writer.align();',
      `const ${f64} = writer.f64, ${at} = writer.position >> 3;`,
      loop,
      `const ${item} = ${value}[${index}];`,
    );
    addCheck(source, of, item);
    source.add(
      `${f64}[${at} + ${index}] = ${item};`,
      '}',
      `writer.position = (${at} + ${length}) << 3;`,
    );
  } else {
    source.add(loop, `const ${item} = ${value}[${index}];`);
    addCheck(source, of, item);
    addWrite(source, of, item);
    source.add('}');
  }
}

function addWriteRecord(source: Source, schema: Schema, value: string): void {
  const prefix = source.name();
  addFields(source, schema, value, prefix);
  const { doubles, integers, bits, rest, size } = layoutOf(leavesOf(schema, [], prefix));
  if (size > 0) {
    const at = source.name();
    source.add(
      `writer.reserve(${size + 8});`,
      'writer.align();',
      `const ${at} = writer.position;`,
      `writer.position = ${at} + ${size};`,
    );
    if (doubles.length > 0) {
      const f64 = source.name();
      source.add(`const ${f64} = writer.f64;`);
      for (const [index, { variable }] of doubles.entries()) {
        source.add(`${f64}[(${at} >> 3) + ${index}] = ${variable};`);
      }
    }
    if (integers.length > 0) {
      const integersAt = source.name();
      const i32 = source.name();
      source.add(
        `const ${i32} = writer.memory.i32, ${integersAt} = (${at} >> 2) + ${2 * doubles.length};`,
      );
      for (const [index, { variable }] of integers.entries()) {
        source.add(`${i32}[${integersAt} + ${index}] = ${variable};`);
      }
    }
    const bitsAt = 8 * doubles.length + 4 * integers.length;
    for (let byte = 0; 8 * byte < bits.length; byte += 1) {
      const terms = bits.slice(8 * byte, 8 * byte + 8).map((leaf, bit) => {
        const is = leaf.schema.kind === 'bool' ? leaf.variable : `${leaf.variable} !== undefined`;
        return `(${is} ? ${1 << bit} : 0)`;
      });
      source.add(`writer.u8[${at} + ${bitsAt + byte}] = ${terms.join(' | ')};`);
    }
  }
  for (const leaf of rest) {
    if (leaf.schema.kind === 'optional') addWritePresent(source, leaf.schema, leaf.variable);
    else addWrite(source, leaf.schema, leaf.variable);
  }
}

/** Reads and checks all before anything is written. */
function addFields(source: Source, schema: Schema, value: string, prefix: string): void {
  for (const [index, [key, field]] of Object.entries(schema.fields ?? {}).entries()) {
    const variable = `${prefix}_${index}`;
    source.add(`const ${variable} = ${value}[${JSON.stringify(key)}];`);
    addCheck(source, field, variable);
    if (field.kind === 'record') addFields(source, field, variable, variable);
  }
}

export function compileRead(schema: Schema): Read {
  const source = new Source();
  const value = addRead(source, schema);
  const body = `${source.lines.join('\n')}\nreturn ${value};`;
  return new Function('reader', body) as Read;
}

/** The expression of the value that the statements have read. */
function addRead(source: Source, schema: Schema): string {
  switch (schema.kind) {
    case 'f64':
      return addConstant(source, 'reader.double()');
    case 'i32':
      return addConstant(source, 'reader.i32()');
    case 'bool':
      return addConstant(source, 'reader.byte() === 1');
    case 'string':
      return addConstant(source, 'reader.string()');
    case 'bytes':
      return addConstant(source, 'reader.bytes()');
    case 'optional':
      return addReadPresent(source, schema, 'reader.byte() === 1');
    case 'list':
      return addReadList(source, schema.of as Schema);
    case 'record':
      return addReadRecord(source, schema);
  }
}

function addConstant(source: Source, expression: string): string {
  const name = source.name();
  source.add(`const ${name} = ${expression};`);
  return name;
}

function addReadPresent(source: Source, { of }: Schema, present: string): string {
  const name = source.name();
  source.add(`let ${name};`, `if (${present}) {`);
  source.add(`${name} = ${addRead(source, of as Schema)};`, '}');
  return name;
}

function addReadList(source: Source, of: Schema): string {
  const length = addConstant(source, 'reader.varint()');
  const index = source.name();
  const loop = `for (let ${index} = 0; ${index} < ${length}; ${index} += 1)`;
  if (of.kind === 'f64') {
    source.add('reader.align();', `reader.need(8 * ${length});`);
    const f64 = addConstant(source, 'reader.f64');
    const at = addConstant(source, 'reader.position >> 3');
    const value = addConstant(source, `new Array(${length})`);
    source.add(`${loop} ${value}[${index}] = ${f64}[${at} + ${index}];`);
    source.add(`reader.position = (${at} + ${length}) << 3;`);
    return value;
  }
  const value = addConstant(source, '[]');
  source.add(`${loop} {`);
  source.add(`${value}.push(${addRead(source, of)});`, '}');
  return value;
}

function addReadRecord(source: Source, schema: Schema): string {
  const prefix = source.name();
  const { doubles, integers, bits, rest, size } = layoutOf(leavesOf(schema, [], prefix));
  const found = new Map<string, string>();
  if (size > 0) {
    source.add('reader.align();', `reader.need(${size});`);
    const at = addConstant(source, 'reader.position');
    source.add(`reader.position = ${at} + ${size};`);
    if (doubles.length > 0) {
      const f64 = addConstant(source, 'reader.f64');
      for (const [index, { variable }] of doubles.entries()) {
        found.set(variable, `${f64}[(${at} >> 3) + ${index}]`);
      }
    }
    if (integers.length > 0) {
      const i32 = addConstant(source, 'reader.memory.i32');
      for (const [index, { variable }] of integers.entries()) {
        found.set(variable, `${i32}[(${at} >> 2) + ${2 * doubles.length + index}]`);
      }
    }
    const bitsAt = 8 * doubles.length + 4 * integers.length;
    for (const [index, { variable }] of bits.entries()) {
      const byte = `reader.u8[${at} + ${bitsAt + (index >> 3)}]`;
      found.set(variable, addConstant(source, `(${byte} & ${1 << (index & 7)}) !== 0`));
    }
  }
  for (const { schema: inside, variable } of rest) {
    found.set(
      variable,
      inside.kind === 'optional'
        ? addReadPresent(source, inside, found.get(variable) as string)
        : addRead(source, inside),
    );
  }
  return addConstant(source, literal(schema, prefix, found));
}

function literal(schema: Schema, prefix: string, found: ReadonlyMap<string, string>): string {
  const members = Object.entries(schema.fields ?? {}).map(([key, field], index) => {
    const variable = `${prefix}_${index}`;
    const inside = field.kind === 'record' ? literal(field, variable, found) : found.get(variable);
    return `${literalKey(key)}: ${inside}`;
  });
  return `{ ${members.join(', ')} }`;
}
