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
  readonly #head: readonly string[];
  readonly #key: string;
  #digest = '';

  constructor(
    connection: CommandConnection,
    base: string,
    { channels, database }: Pick<ConnectionFactory, 'channels' | 'database'>,
  ) {
    const keys = keysOf(base);
    this.#connection = connection;
    this.#key = keys[0];
    this.#head = [
      `${keys.length}`,
      ...keys,
      channelBaseOf(base, database),
      channels === 'sharded' ? 'SPUBLISH' : 'PUBLISH',
    ];
  }

  async prepare(): Promise<void> {
    this.#digest = String(await this.#connection.call(this.#key, 'SCRIPT', 'LOAD', script));
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
