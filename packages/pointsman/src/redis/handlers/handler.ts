/**
 * What both handlers share: how a handler is used, the names of a namespace's keys and channels, and access to them.
 *
 * Invariant: both handlers keep the same state, so processes with different handlers may share a namespace.
 */

import type { Batch, Reply } from '../../shared/protocol/protocol.js';
import type { CommandConnection, ConnectionFactory } from '../connection/connection.js';

export interface Handler {
  /** Prepares a new connection. The caller awaits it before it sends batches. */
  prepare(): Promise<void>;
  /**
   * Applies a batch as a whole. Batches are applied in the order of the calls. Rejects with `ConnectionLostError` if it
   * is unknown whether the batch was applied, and with the server's error if it was refused.
   */
  exchange(batch: Batch): Promise<Reply>;
}

/** The prefix of a namespace's keys and channels. One hash tag keeps them in one slot of a cluster. */
export const baseOf = (keyPrefix: string, namespace: string): string =>
  `${keyPrefix}{${namespace}}:`;

/** The two keys of a namespace, in the order in which the script takes them. */
export const keysOf = (base: string): readonly [state: string, index: string] => [
  `${base}state`,
  `${base}index`,
];

/** The key of the starts of a limiter, or of a key of it. */
export const limiterKeyOf = (base: string, limiter: string): string => `${base}limit:${limiter}`;

/** The key of a counter. */
export const counterKeyOf = (base: string, counter: string): string => `${base}count:${counter}`;

/** The key of the queue of processes with the handler `pure` that wait to write. */
export const turnsOf = (base: string): string => `${base}turns`;

/**
 * The prefix of a namespace's channels. All databases of a server share channels, so the number of the database
 * separates them. A process name has no slash.
 */
export const channelBaseOf = (base: string, database: number): string =>
  database === 0 ? base : `${base}${database}/`;

/** The channel of a process; without a name, the channel of all holders. */
export const channelOf = (channelBase: string, process = ''): string => channelBase + process;

/** The run id of a server in its reply to INFO, shortened: Redis stores a small hash compactly only while no value exceeds 64 bytes. */
export const runOf = (info: string): string | undefined => /^run_id:(\w{8})/m.exec(info)?.[1];

export abstract class ServerHandler implements Handler {
  protected readonly connection: CommandConnection;
  protected readonly base: string;
  protected readonly keys: ReturnType<typeof keysOf>;
  readonly #factory: Pick<ConnectionFactory, 'channels' | 'database'>;

  constructor(
    connection: CommandConnection,
    base: string,
    factory: Pick<ConnectionFactory, 'channels' | 'database'>,
  ) {
    this.connection = connection;
    this.base = base;
    this.keys = keysOf(base);
    this.#factory = factory;
  }

  abstract prepare(): Promise<void>;
  abstract exchange(batch: Batch): Promise<Reply>;

  protected call(...command: string[]): Promise<unknown> {
    return this.connection.call(this.keys[0], ...command);
  }

  /** The prefix of the channels. Known once the connection is open. */
  protected get channelBase(): string {
    return channelBaseOf(this.base, this.#factory.database);
  }

  protected get sharded(): boolean {
    return this.#factory.channels === 'sharded';
  }

  protected get publish(): 'PUBLISH' | 'SPUBLISH' {
    return this.sharded ? 'SPUBLISH' : 'PUBLISH';
  }
}
