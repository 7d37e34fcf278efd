/**
 * How the functions of one thread look from the other: types only.
 */

import type { WaitOptions } from '../sync/options.js';
import type { Callable, Received, RemoteIterable, Sent } from '../transport/types.js';

export type { Received, RemoteIterable, Sent };

/** Functions that block until they have the answer. */
export type Blocking<Api> = {
  readonly [Name in keyof Api as Callable<Api, Name>]: Api[Name] extends (
    ...args: infer Args
  ) => infer Result
    ? (...args: Sent<Args>) => Received<Awaited<Result>>
    : Blocking<Api[Name]>;
};

/** Functions that return a promise of the answer. */
export type Asynchronous<Api> = {
  readonly [Name in keyof Api as Callable<Api, Name>]: Api[Name] extends (
    ...args: infer Args
  ) => infer Result
    ? (...args: Sent<Args>) => Promise<Received<Awaited<Result>>>
    : Asynchronous<Api[Name]>;
};

/** Functions whose answer nobody wants. */
export type Sending<Api> = {
  readonly [Name in keyof Api as Callable<Api, Name>]: Api[Name] extends (
    ...args: infer Args
  ) => unknown
    ? (...args: Sent<Args>) => void
    : Sending<Api[Name]>;
};

/** Functions that note a call in a batch. What they return stands for the answer. */
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

/** The answers of a batch. */
export type Answers<Calls extends readonly Noted<unknown>[]> = {
  -readonly [Index in keyof Calls]: Calls[Index] extends Noted<infer Value> ? Value : never;
};

/** Makes an API impossible that has names which the bridge uses itself. */
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

/** Carries the type of what was exposed in the type of the bridge. */
export declare const exposedApi: unique symbol;

/** Functions that return promises, and batches of them. */
export type AsynchronousView<Api> = Asynchronous<Api> & {
  batch<const Calls extends readonly Noted<unknown>[]>(
    note: (calls: Noting<Api>) => Calls,
  ): Promise<Answers<Calls>>;
};

/** What a worker makes of its host's functions. */
export type Host<Api> = Blocking<Api> &
  HostView<Api> &
  Disposable & {
    /**
     * Resolves when the host has answered; until then no call can be made. Rejects when the bridge
     * is closed before.
     */
    readonly ready: Promise<void>;
    /** Whether the bridge is over. */
    readonly closed: boolean;
    /**
     * Resolves when the bridge is over, because either side has closed it or because the host has ended, with a
     * text that says which, and for what reason.
     */
    readonly ended: Promise<string>;
    /**
     * Ends the bridge. Calls without an answer, and later ones, are refused with `reason` here, or with a
     * `BridgeClosedError` if none is given. On the other side they are refused with a `BridgeClosedError`
     * whose `cause` is a copy of the reason. A second call does nothing.
     */
    close(reason?: unknown): void;
    /** As `close`. */
    [Symbol.asyncDispose](): Promise<void>;
  };

/** The ways to call, with the options given by `with`. */
export interface HostView<Api> {
  /** The same functions, returning promises. `batch` too. */
  readonly async: AsynchronousView<Api>;
  /** The same functions, without an answer. An error is reported in the host, as one of a listener is. */
  readonly send: Sending<Api>;
  /**
   * Makes several calls with one hand-over and blocks until all have been answered. The calls are
   * carried out in order, each whether or not one before it has failed; if some failed, the first of
   * their errors is thrown.
   */
  batch<const Calls extends readonly Noted<unknown>[]>(
    note: (calls: Noting<Api>) => Calls,
  ): Answers<Calls>;
  /**
   * The same functions with options for each call.
   * - `timeout`: milliseconds from the call to its answer, any number from 0 on; a `TimeoutError` when they are
   *   over. The call may still be carried out. With 0 it is not sent at all, since no other thread answers at
   *   once; `Infinity`, the default, is as long as it takes.
   * - `signal`: gives up when it aborts. A call that blocks looks at it before it begins only, since
   *   nothing can abort it meanwhile. To have the function itself stop, pass a signal as an argument.
   */
  with(options: WaitOptions): Blocking<Api> & HostView<Api>;
}
