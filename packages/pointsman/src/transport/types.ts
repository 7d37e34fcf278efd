/** The types of values as the other thread receives them. */

import type { Transferred } from './transfer.js';

/** `Name`, if the member is a function or an object that may contain functions; see `functions.ts`. */
export type Callable<Api, Name extends keyof Api> = Name extends symbol
  ? never
  : Api[Name] extends (...args: never) => unknown
    ? Name
    : Api[Name] extends NotServed
      ? never
      : Api[Name] extends object
        ? Name
        : never;

/** Classes, and instances of built-in classes. */
type NotServed = (abstract new (...args: never) => unknown) | PlatformObject;

/** Instances of built-in classes: most have a tag or are iterable. */
export type PlatformObject =
  | { readonly [Symbol.toStringTag]: string }
  | Iterable<unknown>
  | AsyncIterable<unknown>
  | PromiseLike<unknown>
  | Date
  | RegExp
  | { addEventListener(...args: never): unknown };

export type AnyFunction = (...args: unknown[]) => unknown;

/** An async iterator of another thread: for `for await` anywhere, or for `for` in a thread that can block. */
export interface RemoteIterable<T> extends AsyncIterableIterator<T> {
  [Symbol.iterator](): Iterator<T>;
}

/** A value of type `T` as the other thread receives it. */
export type Received<T> =
  T extends Transferred<infer Value>
    ? Received<Value>
    : T extends (...args: infer Args) => infer Result
      ? (...args: Sent<Args>) => Promise<Received<Awaited<Result>>>
      : T extends AsyncIterable<infer Item>
        ? RemoteIterable<Received<Item>>
        : T;

/** Parameters as the other thread may pass them. A callback may be synchronous. */
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

/** Options that Node's `Worker` takes for a new thread. */
export interface ThreadOptions {
  readonly resourceLimits?: object | undefined;
  readonly env?: object | symbol | undefined;
  readonly argv?: readonly unknown[] | undefined;
  readonly execArgv?: readonly string[] | undefined;
  readonly workerData?: unknown;
}
