/**
 * How the functions of one thread look from the other: types only.
 */

import type { WaitOptions } from '../sync/options.js';
import type { Received, RemoteIterable, Sent } from '../transport/types.js';

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

/** Only functions, and objects of functions, can be called from another thread. */
type Callable<Api, Name extends keyof Api> = Name extends Reserved
  ? never
  : Api[Name] extends object
    ? Name
    : never;

/** Names that the bridge uses itself: a function of an API cannot have them. */
type Reserved = (typeof reserved)[number];
export const reserved = [
  'async',
  'send',
  'batch',
  'with',
  'ready',
  'closed',
  'close',
  'then',
] as const;

/** What a worker makes of its host's functions. */
export type Host<Api> = Blocking<Api> &
  HostView<Api> & {
    /**
     * Resolves when the host has answered; until then no call can be made. Rejects when the bridge
     * is closed before.
     */
    readonly ready: Promise<void>;
    /** Resolves when the bridge is closed, by whichever side, with the reason. */
    readonly closed: Promise<string>;
    /** Ends the bridge: calls without an answer reject with a `BridgeClosedError`, on both sides. */
    close(): void;
  };

/** The ways to call, with the options given by `with`. */
export interface HostView<Api> {
  /** The same functions, returning promises. `batch` too. */
  readonly async: Asynchronous<Api> & {
    batch<const Calls extends readonly Noted<unknown>[]>(
      note: (calls: Noting<Api>) => Calls,
    ): Promise<Answers<Calls>>;
  };
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
   * - `timeout`: milliseconds; a `TimeoutError` when they are over. The call may still be carried out.
   * - `signal`: gives up when it aborts. A call that blocks looks at it before it begins only, since
   *   nothing can abort it meanwhile. To have the function itself stop, pass a signal as an argument.
   */
  with(options: WaitOptions): Blocking<Api> & HostView<Api>;
}
