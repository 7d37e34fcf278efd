/**
 * Functions whose arguments and result have a schema: they are written without a tag or a name.
 */

import { invalid } from '../sync/errors.js';
import { compile, type Schema } from './codec/struct.js';
import type { Reader } from './ring/reader.js';
import type { Writer } from './ring/writer.js';

/** What one function takes and returns; what is left out goes by the bridge's codec. */
export interface CallSchema {
  readonly arguments?: readonly Schema<never>[];
  readonly result?: Schema<never>;
}

export type CallSchemas = Readonly<Record<string, CallSchema>>;

interface Form<T> {
  write(writer: Writer, value: T): void;
  read(reader: Reader): T;
}

export interface CompiledCall {
  readonly arguments: Form<readonly unknown[]> | undefined;
  readonly result: Form<unknown> | undefined;
}

export function compileCalls(schemas: CallSchemas = {}): ReadonlyMap<string, CompiledCall> {
  const compiled = new Map<string, CompiledCall>();
  if (Object(schemas) !== schemas) throw invalid('schemas', schemas, 'an object');
  for (const [name, schema] of Object.entries(schemas)) {
    if (Object(schema) !== schema) {
      throw invalid(`schemas.${name}`, schema, 'an object with arguments and result');
    }
    if (schema.arguments !== undefined && !Array.isArray(schema.arguments)) {
      throw invalid(`schemas.${name}.arguments`, schema.arguments, 'an array of schemas');
    }
    const args = schema.arguments?.map((one, index) =>
      compile(one, `${name}: arguments[${index}]`),
    );
    compiled.set(name, {
      arguments: args && tuple(name, args as Form<unknown>[]),
      result: schema.result && (compile(schema.result, `${name}: result`) as Form<unknown>),
    });
  }
  return compiled;
}

function tuple(name: string, forms: readonly Form<unknown>[]): Form<readonly unknown[]> {
  return {
    write(writer, args) {
      // Those that are left out are undefined, which their schemas accept or not.
      if (args.length > forms.length) {
        throw new TypeError(`${name}() takes ${forms.length} arguments, got ${args.length}`);
      }
      for (let i = 0; i < forms.length; i++) (forms[i] as Form<unknown>).write(writer, args[i]);
    },
    read(reader) {
      return forms.map((form) => form.read(reader));
    },
  };
}
