/**
 * The connections that the mutex stands on, the same for all client libraries: a connection sends a command once, in the order of the calls, and either
 * brings its reply or rejects. It never sends a command a second time.
 *
 * Replies are those of the protocol's version 2: strings, numbers, arrays and null.
 */

export interface ConnectionFactory {
  /**
   * How messages travel: `plain` by PUBLISH, whose count of receivers tells whether anybody has heard
   * it; `sharded` by SPUBLISH, with the same count.
   */
  readonly channels: 'plain' | 'sharded';
  /** What the client puts before every key. Connections put nothing before anything. */
  readonly keyPrefix: string;
  /** The number of the database with the keys; all databases share channels. Known once a connection is open. */
  readonly database: number;
  /** Opens a connection of its own for commands, with the client's settings. */
  commands(events: ConnectionEvents): CommandConnection;
  /** Opens a connection of its own for subscriptions, with the client's settings. */
  subscriptions(events: ConnectionEvents): SubscriberConnection;
}

export interface ConnectionEvents {
  /** Commands are accepted, or all channels are subscribed. Called once per connection made. */
  up(): void;
  /** The connection was lost, or the first could not be made. Called once until the next `up`. */
  down(reason: unknown): void;
}

export interface CommandConnection {
  /**
   * Sends one command at once. Calls made back to back arrive on one connection, in order. `key`
   * says which node of a cluster it goes to. Before the first attempt to connect has come to an end,
   * the command waits for that.
   *
   * Rejects with {@link ConnectionLostError} at once while the connection is down, and when it is
   * lost before the reply: then nobody knows whether the server has carried the command out. An error
   * that the server replied passes through as the library made it.
   */
  call(key: string, ...command: string[]): Promise<unknown>;
  /** Drops the socket, which may be half-open, and connects again. Does nothing while it is down. */
  reconnect(): void;
  /** Closes for good. What is still without a reply rejects. */
  close(): Promise<void>;
}

export interface SubscriberConnection {
  /**
   * Resolves when the server has confirmed the subscription, be it by a later connection. Rejects
   * with the server's error, or with {@link ConnectionLostError} when this is closed before.
   */
  subscribe(channel: string, listener: (message: string) => void): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  /**
   * Resolves when the server has answered, be it with an error. Rejects with
   * {@link ConnectionLostError} when the connection is lost before. While it is down there is nobody
   * to ask, and it resolves at once.
   */
  ping(): Promise<void>;
  /** Drops the socket, which may be half-open, and connects again. Does nothing while it is down. */
  reconnect(): void;
  close(): Promise<void>;
}

/** A command has no reply and will not get one. Whether the server has carried it out is unknown. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
}

/** The loss that a failure of the client library comes to. */
export function lossOf(cause: unknown): ConnectionLostError {
  if (cause instanceof ConnectionLostError) return cause;
  const why = cause instanceof Error && cause.message ? `: ${cause.message}` : '';
  return new ConnectionLostError(`The connection to the server is lost${why}`, { cause });
}

/** Whether the server has replied the error: only then does it begin with a code in capitals. */
export function isReply(error: unknown): error is Error {
  return error instanceof Error && /^[A-Z][A-Z0-9_]+ /.test(error.message);
}
