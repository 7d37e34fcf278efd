/**
 * The handler `script`: a Lua script applies a batch, in one round trip.
 *
 * Invariant: the script is loaded on every new connection before anything else is sent. If the server forgets it later,
 * that counts as a lost connection: once the script is loaded again, all operations without a reply are sent again in
 * order. So a batch never overtakes another.
 */

import type { Batch, Reply } from '../../shared/protocol/protocol.js';
import { decodeReply, encodeBatch } from '../../shared/protocol/wire.js';
import { ConnectionLostError } from '../../shared/store.js';
import { batch as script } from '../lua/scripts.js';
import { ServerHandler } from './handler.js';

export class ScriptHandler extends ServerHandler {
  /** The arguments before those of the batch. */
  #head: readonly string[] = [];

  async prepare(): Promise<void> {
    const digest = String(await this.call('SCRIPT', 'LOAD', script));
    const { keys, channelBase, publish } = this;
    this.#head = [digest, `${keys.length}`, ...keys, channelBase, publish];
  }

  exchange(batch: Batch): Promise<Reply> {
    return this.connection.call(this.keys[0], 'EVALSHA', ...this.#head, ...encodeBatch(batch)).then(
      (reply) => decodeReply(reply, batch.operations),
      (error) => {
        if (!(error as Error).message?.startsWith('NOSCRIPT')) throw error;
        throw new ConnectionLostError('the server has forgotten the script', { cause: error });
      },
    );
  }
}
