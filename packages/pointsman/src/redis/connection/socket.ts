/**
 * What each client library has an adapter for: sockets that connect once.
 *
 * Invariant: a socket becomes ready at most once and is lost at most once, and never sends a command
 * again. Whoever wants another connection opens another socket.
 */

/** One client of a library. */
export interface Socket {
  send(command: string[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  /** Asks the server for any answer, on a socket for subscriptions. */
  ping(): Promise<unknown>;
  /** Closes it at once. Commands without a reply reject. */
  destroy(): void;
}

export interface SocketEvents {
  ready(): void;
  lost(reason: unknown): void;
}

export type Purpose = 'commands' | 'subscriptions';

/** A client that the user gave, as a maker of sockets with its settings. */
export interface Adapter {
  readonly keyPrefix: string;
  /** The number of the database with the keys. Known once a socket is open. */
  readonly database: number;
  /** The slot of a key in a cluster; undefined where all keys are in one place. */
  readonly slotOf?: (key: string) => number;
  /** Opens a socket to where `key` is. */
  open(purpose: Purpose, events: SocketEvents, key: string): Promise<Socket>;
  /** Runs a script on the client itself, on keys to which it puts its prefix. */
  eval(script: string, keys: readonly string[], ...parameters: string[]): Promise<unknown>;
}
