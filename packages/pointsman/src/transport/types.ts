/**
 * How values look to the thread on the other side: types only.
 */

import type { Transferred } from './transfer.js';

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
