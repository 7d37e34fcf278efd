/** The types of one thread's functions as the other thread sees them. */

import type { WaitOptions } from '../sync/options.js';
import type { Callable, Received, RemoteIterable, Sent } from '../transport/types.js';

export type { Received, RemoteIterable, Sent };

/** Functions that block until the reply arrives. */
export type Blocking<Api> = {
  readonly [Name in keyof Api as Callable<Api, Name>]: Api[Name] extends (
    ...args: infer Args
  ) => infer Result
    ? (...args: Sent<Args>) => Received<Awaited<Result>>
    : Blocking<Api[Name]>;
};

/** Functions that return a promise of the reply. */
export type Asynchronous<Api> = {
  readonly [Name in keyof Api as Callable<Api, Name>]: Api[Name] extends (
    ...args: infer Args
  ) => infer Result
    ? (...args: Sent<Args>) => Promise<Received<Awaited<Result>>>
    : Asynchronous<Api[Name]>;
};

/** Functions without a reply. */
export type Sending<Api> = {
  readonly [Name in keyof Api as Callable<Api, Name>]: Api[Name] extends (
    ...args: infer Args
  ) => unknown
    ? (...args: Sent<Args>) => void
    : Sending<Api[Name]>;
};

/** Functions that add a call to a batch. Each returns a placeholder for the reply. */
export type Noting<Api> = {
  readonly [Name in keyof Api as Callable<Api, Name>]: Api[Name] extends (
    ...args: infer Args
  ) => infer Result
    ? (...args: Sent<Args>) => Noted<Received<Awaited<Result>>>
    : Noting<Api[Name]>;
};

/** A call in a batch. */
export interface Noted<T> {
  readonly answer?: T;
}

/** The results of a batch. */
export type Answers<Calls extends readonly Noted<unknown>[]> = {
  -readonly [Index in keyof Calls]: Calls[Index] extends Noted<infer Value> ? Value : never;
};

/** Rejects an API with names that the bridge reserves. */
export type Unreserved<Api> = { readonly [Name in keyof Api & (typeof reserved)[number]]?: never };

export const reserved = [
  'async',
  'send',
  'batch',
  'with',
  'ready',
  'closed',
  'ended',
  'close',
  'then',
] as const;

/** Key under which the type of a bridge carries the type of its API. */
export declare const exposedApi: unique symbol;

/** Functions that return promises, and `batch`. */
export type AsynchronousView<Api> = Asynchronous<Api> & {
  batch<const Calls extends readonly Noted<unknown>[]>(
    makeCalls: (calls: Noting<Api>) => Calls,
  ): Promise<Answers<Calls>>;
};

/** The host's functions as the worker calls them. */
export type Host<Api> = Blocking<Api> &
  HostView<Api> &
  Disposable & {
    /** Resolves when the bridge is connected; earlier calls fail. Rejects if the bridge closes first. */
    readonly ready: Promise<void>;
    /** Whether the bridge has ended. */
    readonly closed: boolean;
    /** Resolves when either side has closed the bridge or the host has ended, with a text that states the cause. */
    readonly ended: Promise<string>;
    /**
     * Ends the bridge. On this side, pending and later calls reject with `reason`, or with a `BridgeClosedError` if
     * none is given. On the other side they reject with a `BridgeClosedError` whose `cause` is a copy of the reason.
     * A second call does nothing.
     */
    close(reason?: unknown): void;
    /** Same as `close`. */
    [Symbol.asyncDispose](): Promise<void>;
  };

/** All ways to call, with the options passed to `with`. */
export interface HostView<Api> {
  /** The same functions and `batch`, returning promises. */
  readonly async: AsynchronousView<Api>;
  /** The same functions without a reply. The host reports an error as an unhandled rejection. */
  readonly send: Sending<Api>;
  /**
   * Sends several calls at once and blocks until all replies have arrived. The calls run in order, even if an earlier
   * one fails. If any fail, the first error in call order is thrown.
   */
  batch<const Calls extends readonly Noted<unknown>[]>(
    makeCalls: (calls: Noting<Api>) => Calls,
  ): Answers<Calls>;
  /**
   * The same functions with options for each call.
   * - `timeout`: maximum milliseconds from the call to its reply, >= 0; then the call fails with a `TimeoutError`,
   *   but the function may still run. With 0 the call is not sent, because no other thread replies at once.
   *   Default: `Infinity`.
   * - `signal`: cancels the call. A blocking call checks it only before it starts, because nothing can abort it while
   *   the thread is blocked. To stop the function itself, pass a signal as an argument.
   */
  with(options: WaitOptions): Blocking<Api> & HostView<Api>;
}
