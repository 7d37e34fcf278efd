/** The link of a session to its namespace on this machine. */

import type { Batch, Reply } from '../shared/protocol/protocol.js';
import type { Link, LinkObserver } from '../shared/store.js';
import type { HostConnection } from './connection.js';

export class HostLink implements Link {
  readonly #connection: HostConnection;
  readonly #observer: LinkObserver;
  readonly #channels = new Set<string>();
  /** Called when no session uses the connection any more. */
  readonly #unused: () => void;

  constructor(connection: HostConnection, observer: LinkObserver, unused: () => void) {
    this.#connection = connection;
    this.#observer = observer;
    this.#unused = unused;
    connection.add(observer);
  }

  get run(): unknown {
    return this.#connection.run;
  }

  exchange(batch: Batch): Promise<Reply> {
    return this.#connection.exchange(batch);
  }

  listen(channel: string): Promise<void> {
    this.#channels.add(channel);
    return this.#connection.listen(channel, this.#observer);
  }

  unlisten(channel: string): void {
    this.#channels.delete(channel);
    this.#connection.unlisten(channel, this.#observer);
  }

  continuity(channel: string): number {
    return this.#connection.continuity(channel, this.#observer);
  }

  probe(): void {
    this.#connection.probe();
  }

  reconnect(): void {
    this.#connection.reconnect();
  }

  renew(): void {
    this.#connection.renew();
  }

  async close(): Promise<void> {
    for (const channel of this.#channels) this.unlisten(channel);
    this.#connection.delete(this.#observer);
    if (!this.#connection.unused) return;
    this.#unused();
    await this.#connection.close();
  }
}
