/**
 * Sockets that connect once. Each client library has an adapter that opens them.
 *
 * Invariant: a socket becomes ready at most once, is lost at most once, and never sends a command twice. To reconnect,
 * another socket is opened.
 */

/** One client of a library. */
export interface Socket {
  send(command: string[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  /** Resolves or rejects with any reply. For sockets for subscriptions. */
  ping(): Promise<unknown>;
  /** Closes the socket at once. Commands without a reply reject. */
  destroy(): void;
}

export interface SocketEvents {
  ready(): void;
  lost(reason: unknown): void;
}

export type Purpose = 'commands' | 'subscriptions';

/** Opens sockets with the settings of the user's client. */
export interface Adapter {
  readonly keyPrefix: string;
  /** The number of the database. Known once a socket is open. */
  readonly database: number;
  /** Returns the slot of a key in a cluster; undefined without a cluster. */
  readonly slotOf?: (key: string) => number;
  /** Opens a socket to the node that has `key`. */
  open(purpose: Purpose, events: SocketEvents, key: string): Promise<Socket>;
  /** Runs a script on the user's client, which adds its prefix to the keys. */
  eval(script: string, keys: readonly string[], ...parameters: string[]): Promise<unknown>;
}
