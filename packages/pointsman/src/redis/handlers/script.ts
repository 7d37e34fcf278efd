/**
 * The handler `script`: one round trip for a batch, applied by a Lua script.
 *
 * Invariant: the script is loaded whenever a connection is new, before anything is sent on it. Should
 * the server forget it later, that counts as a lost connection: everything without an answer is sent
 * again, in order, once the script is back. So a batch never overtakes another.
 */

import {
  type CommandConnection,
  type ConnectionFactory,
  ConnectionLostError,
} from '../connection/connection.js';
import { batch as script } from '../lua/scripts.js';
import type { Batch, Reply } from '../protocol/protocol.js';
import { decodeReply, encodeBatch } from '../protocol/wire.js';
import { channelBaseOf, type Handler, keysOf } from './handler.js';

export class ScriptHandler implements Handler {
  readonly #connection: CommandConnection;
  readonly #base: string;
  readonly #factory: Pick<ConnectionFactory, 'channels' | 'database'>;
  readonly #key: string;
  #digest = '';
  #head: readonly string[] = [];

  constructor(
    connection: CommandConnection,
    base: string,
    factory: Pick<ConnectionFactory, 'channels' | 'database'>,
  ) {
    this.#connection = connection;
    this.#base = base;
    this.#factory = factory;
    this.#key = keysOf(base)[0];
  }

  async prepare(): Promise<void> {
    this.#digest = String(await this.#connection.call(this.#key, 'SCRIPT', 'LOAD', script));
    const keys = keysOf(this.#base);
    const { channels, database } = this.#factory;
    this.#head = [
      `${keys.length}`,
      ...keys,
      channelBaseOf(this.#base, database),
      channels === 'sharded' ? 'SPUBLISH' : 'PUBLISH',
    ];
  }

  exchange(batch: Batch): Promise<Reply> {
    return this.#connection
      .call(this.#key, 'EVALSHA', this.#digest, ...this.#head, ...encodeBatch(batch))
      .then(
        (reply) => decodeReply(reply, batch.operations),
        (error) => {
          if (!(error as Error).message?.startsWith('NOSCRIPT')) throw error;
          throw new ConnectionLostError('the server has forgotten the script', { cause: error });
        },
      );
  }
}
