/** How the functions of a pool's threads look from outside: types only. */

import type { Received, Sent } from '../transport/types.js';

// biome-ignore lint/suspicious/noExplicitAny: only so does it match functions of all parameters.
export type AnyFunction = (...args: any[]) => unknown;

/** A pool of whose functions nothing is known. */
export type AnyApi = { readonly [name: string]: (...args: unknown[]) => unknown };

/** The functions of a module, or of an object, by name; those of objects in it with dots. */
export type NameOf<Api> = {
  [Name in keyof Api & string]: Api[Name] extends AnyFunction
    ? Name
    : Api[Name] extends object
      ? `${Name}.${NameOf<Api[Name]>}`
      : never;
}[keyof Api & string];

export type FunctionOf<Api, Name> = Name extends keyof Api
  ? Extract<Api[Name], AnyFunction>
  : Name extends `${infer Head}.${infer Rest}`
    ? Head extends keyof Api
      ? FunctionOf<Api[Head], Rest>
      : never
    : never;

/** The arguments, as whoever runs the task may give them. */
export type ArgumentsOf<Fn extends AnyFunction> = Sent<Parameters<Fn>>;

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
  readonly [Name in keyof Api as Api[Name] extends object
    ? Name
    : never]: Api[Name] extends AnyFunction
    ? (...args: ArgumentsOf<Api[Name]>) => Promise<ResultOf<Api[Name]>>
    : Proxied<Api[Name]>;
};
