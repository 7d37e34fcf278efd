/** The types of a pool's functions as callers see them. */

import type { PlatformObject, Received, Sent } from '../transport/types.js';
import type { RunOptions } from './options.js';

// biome-ignore lint/suspicious/noExplicitAny: matches functions of any parameters
export type AnyFunction = (...args: any[]) => unknown;

/** The functions of a pool without a type argument. */
export type AnyApi = { readonly [name: string]: (...args: unknown[]) => unknown };

/**
 * The names of the functions of a module or an object. Functions and methods of nested objects, functions and classes
 * have dotted names, down to four levels, as types may be circular. A CommonJS module that is a function is `default`.
 */
export type NameOf<Api> = NameWithin<Api, 4> | (Api extends AnyFunction ? 'default' : never);

type NameWithin<Api, Depth extends 1 | 2 | 3 | 4> = {
  [Name in Exclude<keyof Api & string, 'prototype'>]:
    | (Api[Name] extends AnyFunction ? Name : never)
    | (Depth extends 1
        ? never
        : Api[Name] extends PlatformObject
          ? never
          : Api[Name] extends object
            ? `${Name}.${NameWithin<Api[Name], Less[Depth]>}`
            : never);
}[Exclude<keyof Api & string, 'prototype'>];

/** The type at index `n` is `n - 1`. */
type Less = [1, 1, 1, 2, 3];

/** The function that a module `Api` exports under `Name`, also inside an exported object: `a.b`. */
export type FunctionOf<Api, Name> = Name extends keyof Api
  ? Extract<Api[Name], AnyFunction>
  : [Api, Name] extends [AnyFunction, 'default']
    ? Extract<Api, AnyFunction>
    : Name extends `${infer Head}.${infer Rest}`
      ? Head extends keyof Api
        ? FunctionOf<Api[Head], Rest>
        : never
      : never;

/** The arguments of a function as the caller may pass them. */
export type ArgumentsOf<Fn extends AnyFunction> = Sent<Parameters<Fn>>;

/** The parameters of `run` after the name: the arguments are optional if the function has no required parameters. */
export type RunArguments<Fn extends AnyFunction> =
  [] extends Parameters<Fn>
    ? [args?: ArgumentsOf<Fn>, options?: RunOptions]
    : [args: ArgumentsOf<Fn>, options?: RunOptions];

/** The inputs of `map`: values of the function's only required parameter. */
export type InputsOf<Fn extends AnyFunction> =
  Parameters<Fn> extends [unknown, unknown, ...unknown[]]
    ? never
    : Iterable<ArgumentsOf<Fn>[0]> | AsyncIterable<ArgumentsOf<Fn>[0]>;

/** The result of a task. An iterator arrives as an async iterator. */
export type ResultOf<Fn extends AnyFunction> = Given<Awaited<ReturnType<Fn>>>;

type Given<Value> =
  Value extends AsyncIterable<infer Item>
    ? AsyncIterableIterator<Received<Item>>
    : Value extends Iterator<infer Item>
      ? AsyncIterableIterator<Received<Item>>
      : Received<Value>;

/** The type of `pool.proxy`. */
export type Proxied<Api> = {
  readonly [Name in keyof Api as Name extends 'prototype'
    ? never
    : Api[Name] extends PlatformObject
      ? never
      : Api[Name] extends object
        ? Name
        : never]: Api[Name] extends AnyFunction
    ? ((...args: ArgumentsOf<Api[Name]>) => Promise<ResultOf<Api[Name]>>) & Proxied<Api[Name]>
    : Proxied<Api[Name]>;
};
