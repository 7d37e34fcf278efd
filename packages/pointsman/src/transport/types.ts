/**
 * How values look to the thread on the other side: types only.
 */

import type { Transferred } from './transfer.js';

/**
 * `Name`, if what it stands for can be called from another thread: a function, or an object in which there may be
 * some; see `functions.ts`.
 */
export type Callable<Api, Name extends keyof Api> = Name extends symbol
  ? never
  : Api[Name] extends (...args: never) => unknown
    ? Name
    : Api[Name] extends NotServed
      ? never
      : Api[Name] extends object
        ? Name
        : never;

/** Classes, and objects that have methods of the language or the platform. */
type NotServed = (abstract new (...args: never) => unknown) | PlatformObject;

/** Objects whose methods are those of the language or the platform: most have a tag, or can be iterated over. */
export type PlatformObject =
  | { readonly [Symbol.toStringTag]: string }
  | Iterable<unknown>
  | AsyncIterable<unknown>
  | PromiseLike<unknown>
  | Date
  | RegExp
  | { addEventListener(...args: never): unknown };

export type AnyFunction = (...args: unknown[]) => unknown;

/** Asynchronous iterators arrive as this: `for await` anywhere, a plain `for` in a thread that blocks. */
export interface RemoteIterable<T> extends AsyncIterableIterator<T> {
  [Symbol.iterator](): Iterator<T>;
}

/** A value as the other thread receives it. */
export type Received<T> =
  T extends Transferred<infer Value>
    ? Received<Value>
    : T extends (...args: infer Args) => infer Result
      ? (...args: Sent<Args>) => Promise<Received<Awaited<Result>>>
      : T extends AsyncIterable<infer Item>
        ? RemoteIterable<Received<Item>>
        : T;

/** Parameters as the other thread may fill them. A callback need not be asynchronous here. */
export type Sent<Args extends readonly unknown[]> = {
  [Index in keyof Args]: Sendable<Args[Index]>;
};

type Sendable<T> =
  | (T extends (...args: infer Args) => infer Result
      ? (...args: Args) => Result | Awaited<Result>
      : T)
  | Transferred<T>;

/** A `Worker` of the web or of Node, or a port to a thread of any kind. */
export interface WorkerLike {
  postMessage(message: unknown, ...rest: never[]): void;
}
