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
import { kindOf } from './records.js';

export class ScriptHandler extends ServerHandler {
  /** The digest of the script. */
  #digest = '';
  /** The arguments before those of a batch without records. */
  #head: readonly string[] = [];

  async prepare(): Promise<void> {
    this.#digest = String(await this.call('SCRIPT', 'LOAD', script));
    this.#head = this.#headOf([]);
  }

  exchange(batch: Batch): Promise<Reply> {
    const records = new Map<string, number>();
    const words = encodeBatch(batch, records);
    const { keyOf } = kindOf(batch);
    const keys = Array.from(records.keys(), (name) => keyOf(this.base, name));
    const head = keys.length === 0 ? this.#head : this.#headOf(keys);
    return this.connection.call(this.keys[0], 'EVALSHA', ...head, ...words).then(
      (reply) => decodeReply(reply, batch.operations),
      (error) => {
        if (!(error as Error).message?.startsWith('NOSCRIPT')) throw error;
        throw new ConnectionLostError('the server has forgotten the script', { cause: error });
      },
    );
  }

  #headOf(records: readonly string[]): readonly string[] {
    const { channelBase, publish } = this;
    const keys = [...this.keys, ...records];
    return [this.#digest, `${keys.length}`, ...keys, channelBase, publish];
  }
}
