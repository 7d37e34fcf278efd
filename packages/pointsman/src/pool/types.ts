/** How the functions of a pool's threads look from outside: types only. */

import type { PlatformObject, Received, Sent } from '../transport/types.js';
import type { RunOptions } from './options.js';

// biome-ignore lint/suspicious/noExplicitAny: only so does it match functions of all parameters.
export type AnyFunction = (...args: any[]) => unknown;

/** A pool of whose functions nothing is known. */
export type AnyApi = { readonly [name: string]: (...args: unknown[]) => unknown };

/**
 * The functions of a module, or of an object, by name; those of objects in it with dots, and so the methods of
 * an object of a class, and functions that a function or a class has. Down to four names: types may be circular.
 * A module of CommonJS that is a function is its own `default`.
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

/** One less than its index. */
type Less = [1, 1, 1, 2, 3];

export type FunctionOf<Api, Name> = Name extends keyof Api
  ? Extract<Api[Name], AnyFunction>
  : [Api, Name] extends [AnyFunction, 'default']
    ? Extract<Api, AnyFunction>
    : Name extends `${infer Head}.${infer Rest}`
      ? Head extends keyof Api
        ? FunctionOf<Api[Head], Rest>
        : never
      : never;

/** The arguments, as whoever runs the task may give them. */
export type ArgumentsOf<Fn extends AnyFunction> = Sent<Parameters<Fn>>;

/** What follows the name: the arguments may be left out where the function needs none. */
export type RunArguments<Fn extends AnyFunction> =
  [] extends Parameters<Fn>
    ? [args?: ArgumentsOf<Fn>, options?: RunOptions]
    : [args: ArgumentsOf<Fn>, options?: RunOptions];

/** What a function may be run for: its first argument, if it needs no other. */
export type InputsOf<Fn extends AnyFunction> =
  Parameters<Fn> extends [unknown, unknown, ...unknown[]]
    ? never
    : Iterable<ArgumentsOf<Fn>[0]> | AsyncIterable<ArgumentsOf<Fn>[0]>;

/** What a task gives: what is iterated over comes as an asynchronous iterator. */
export type ResultOf<Fn extends AnyFunction> = Given<Awaited<ReturnType<Fn>>>;

type Given<Value> =
  Value extends AsyncIterable<infer Item>
    ? AsyncIterableIterator<Received<Item>>
    : Value extends Iterator<infer Item>
      ? AsyncIterableIterator<Received<Item>>
      : Received<Value>;

/** The same functions to be called. */
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
