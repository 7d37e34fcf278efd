/**
 * The connections of a store, the same for all client libraries.
 *
 * Invariant: a connection sends commands in the order of the calls, each once, and either returns the reply or rejects.
 *
 * Replies are those of RESP 2: strings, numbers, arrays and null.
 */

import { ConnectionLostError } from '../../shared/store.js';

export interface ConnectionFactory {
  /** Messages are sent by PUBLISH (`plain`) or SPUBLISH (`sharded`). */
  readonly channels: 'plain' | 'sharded';
  /** The prefix that the client adds to keys. Connections add none. */
  readonly keyPrefix: string;
  /** The number of the database with the keys; all databases share channels. Known once a connection is open. */
  readonly database: number;
  commands(events: ConnectionEvents): CommandConnection;
  subscriptions(events: ConnectionEvents): SubscriberConnection;
}

export interface ConnectionEvents {
  /** The connection is established, with all channels subscribed. */
  up(): void;
  /** The connection was lost, or the first attempt failed. Called once before the next `up`. */
  down(reason: unknown): void;
}

export interface CommandConnection {
  /**
   * Sends a command. `key` determines the node of a cluster. Consecutive calls arrive on one connection, in order. Until
   * the first attempt to connect has ended, commands wait.
   *
   * Rejects with {@link ConnectionLostError} while the connection is down, and when it is lost before the reply: the
   * server may or may not have processed the command. An error reply rejects with the library's error.
   */
  call(key: string, ...command: string[]): Promise<unknown>;
  /** Drops the socket, which may be half-open, and connects again. Does nothing while it is down. */
  reconnect(): void;
  /** Rejects commands without a reply. */
  close(): Promise<void>;
}

export interface SubscriberConnection {
  /**
   * Resolves when the server has confirmed the subscription, possibly on a later connection. Rejects with the server's
   * error, or with {@link ConnectionLostError} if the connection is closed first.
   */
  subscribe(channel: string, listener: (message: string) => void): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  /**
   * Resolves when the server has replied, even with an error; at once while the connection is down. Rejects with
   * {@link ConnectionLostError} if the connection is lost first.
   */
  ping(): Promise<void>;
  /** Drops the socket, which may be half-open, and connects again. Does nothing while it is down. */
  reconnect(): void;
  close(): Promise<void>;
}

export function lossOf(cause: unknown): ConnectionLostError {
  if (cause instanceof ConnectionLostError) return cause;
  const why = cause instanceof Error && cause.message ? `: ${cause.message}` : '';
  return new ConnectionLostError(`The connection to the server is lost${why}`, { cause });
}

/** Whether the error is a reply of the server, which begins with a code in capital letters. */
export function isReply(error: unknown): error is Error {
  return error instanceof Error && /^[A-Z][A-Z0-9_]+ /.test(error.message);
}
