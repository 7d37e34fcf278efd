/**
 * Schemas where no source text may be compiled: functions that call each other.
 *
 * Invariant: byte for byte the same messages as those of the compiled text.
 */

import {
  fits,
  layoutOf,
  leavesOf,
  mismatch,
  type Read,
  type Schema,
  type Write,
} from './schema.js';

export function writes(schema: Schema): Write {
  const write = writesChecked(schema);
  return (writer, value) => {
    if (!fits(schema.kind, value)) throw mismatch;
    write(writer, value);
  };
}

function writesChecked(schema: Schema): Write {
  switch (schema.kind) {
    case 'f64':
      return (writer, value) => writer.double(value as number);
    case 'i32':
      return (writer, value) => writer.i32(value as number);
    case 'bool':
      return (writer, value) => writer.byte(value ? 1 : 0);
    case 'string':
      return (writer, value) => writer.string(value as string);
    case 'bytes':
      return (writer, value) => writer.bytes(value as Uint8Array);
    case 'optional': {
      const write = writes(schema.of as Schema);
      return (writer, value) => {
        writer.byte(value === undefined ? 0 : 1);
        if (value !== undefined) write(writer, value);
      };
    }
    case 'list':
      return writesList(schema.of as Schema);
    case 'record':
      return writesRecord(schema);
  }
}

function writesList(of: Schema): Write {
  const write = writes(of);
  return (writer, value) => {
    const items = value as readonly unknown[];
    const { length } = items;
    writer.varint(length);
    if (of.kind === 'f64') {
      writer.reserve(8);
      writer.align();
    }
    for (let index = 0; index < length; index += 1) write(writer, items[index]);
  };
}

function writesRecord(schema: Schema): Write {
  const { doubles, integers, bits, rest, size } = layoutOf(leavesOf(schema, [], ''));
  const others = rest.map(({ path, schema: { kind, of }, schema: inside }) => ({
    path,
    optional: kind === 'optional',
    write: writes(kind === 'optional' ? (of as Schema) : inside),
  }));
  return (writer, value) => {
    checkFields(schema, value);
    if (size > 0) {
      writer.reserve(size + 8);
      writer.align();
    }
    for (const { path } of doubles) writer.double(at(value, path) as number);
    for (const { path } of integers) writer.i32(at(value, path) as number);
    for (let first = 0; first < bits.length; first += 8) {
      let byte = 0;
      for (const [bit, { path, schema: inside }] of bits.slice(first, first + 8).entries()) {
        const found = at(value, path);
        if (inside.kind === 'bool' ? found === true : found !== undefined) byte |= 1 << bit;
      }
      writer.byte(byte);
    }
    for (const { path, optional: mayMiss, write } of others) {
      const found = at(value, path);
      if (!mayMiss || found !== undefined) write(writer, found);
    }
  };
}

function checkFields(schema: Schema, value: unknown): void {
  for (const [key, field] of Object.entries(schema.fields ?? {})) {
    const inside = (value as Record<string, unknown>)[key];
    if (!fits(field.kind, inside)) throw mismatch;
    if (field.kind === 'record') checkFields(field, inside);
  }
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce((inside, key) => (inside as Record<string, unknown>)[key], value);
}

export function reads(schema: Schema): Read {
  switch (schema.kind) {
    case 'f64':
      return (reader) => reader.double();
    case 'i32':
      return (reader) => reader.i32();
    case 'bool':
      return (reader) => reader.byte() === 1;
    case 'string':
      return (reader) => reader.string();
    case 'bytes':
      return (reader) => reader.bytes();
    case 'optional': {
      const read = reads(schema.of as Schema);
      return (reader) => (reader.byte() === 1 ? read(reader) : undefined);
    }
    case 'list':
      return readsList(schema.of as Schema);
    case 'record':
      return readsRecord(schema);
  }
}

function readsList(of: Schema): Read {
  const read = reads(of);
  return (reader) => {
    const length = reader.varint();
    if (of.kind === 'f64') reader.align();
    const items: unknown[] = [];
    for (let index = 0; index < length; index += 1) items.push(read(reader));
    return items;
  };
}

function readsRecord(schema: Schema): Read {
  const { doubles, integers, bits, rest, size } = layoutOf(leavesOf(schema, [], ''));
  const others = rest.map(({ variable, schema: { kind, of }, schema: inside }) => ({
    variable,
    optional: kind === 'optional',
    read: reads(kind === 'optional' ? (of as Schema) : inside),
  }));
  return (reader) => {
    const found = new Map<string, unknown>();
    if (size > 0) {
      reader.align();
      reader.need(size);
    }
    for (const { variable } of doubles) found.set(variable, reader.double());
    for (const { variable } of integers) found.set(variable, reader.i32());
    for (const [index, { variable }] of bits.entries()) {
      const byte = reader.u8[reader.position + (index >> 3)] as number;
      found.set(variable, (byte & (1 << (index & 7))) !== 0);
    }
    reader.position += Math.ceil(bits.length / 8);
    for (const { variable, optional: mayMiss, read } of others) {
      found.set(variable, mayMiss && !found.get(variable) ? undefined : read(reader));
    }
    return assemble(schema, '', found);
  };
}

function assemble(schema: Schema, prefix: string, found: ReadonlyMap<string, unknown>): unknown {
  const entries = Object.entries(schema.fields ?? {}).map(([key, field], index) => {
    const variable = `${prefix}_${index}`;
    return [
      key,
      field.kind === 'record' ? assemble(field, variable, found) : found.get(variable),
    ] as const;
  });
  return Object.fromEntries(entries);
}
