/** The link of a session to its namespace on the server: a handler and channels on the connections of the store. */

import type { Batch, Reply } from '../shared/protocol/protocol.js';
import type { Link, LinkObserver } from '../shared/store.js';
import type { ConnectionObserver, Connections, SharedSubscription } from './connections.js';
import {
  baseOf,
  channelBaseOf,
  channelOf,
  type Handler,
  keysOf,
  type ServerHandler,
} from './handlers/handler.js';

type HandlerClass = new (...given: ConstructorParameters<typeof ServerHandler>) => Handler;

export class RedisLink implements Link, ConnectionObserver {
  readonly key: string;
  readonly handler: Handler;
  run: unknown;
  readonly #base: string;
  readonly #connections: Connections;
  readonly #observer: LinkObserver;
  #channelBase = '';
  readonly #channels = new Map<string, SharedSubscription>();

  constructor(
    connections: Connections,
    handler: HandlerClass,
    namespace: string,
    observer: LinkObserver,
  ) {
    this.#base = baseOf(connections.factory.keyPrefix, namespace);
    this.key = keysOf(this.#base)[0];
    this.handler = new handler(connections.commands, this.#base, connections.factory);
    this.#connections = connections;
    this.#observer = observer;
    connections.add(this);
  }

  exchange(batch: Batch): Promise<Reply> {
    return this.handler.exchange(batch);
  }

  listen(name: string): Promise<void> {
    const channel = this.#connections.listen(this.#channel(name), this.#receive);
    this.#channels.set(name, channel);
    return channel.subscribed;
  }

  unlisten(name: string): void {
    if (!this.#channels.delete(name)) return;
    this.#connections.unlisten(this.#channel(name), this.#receive);
  }

  continuity(name: string): number {
    return this.#channels.get(name)?.confirmed ?? 0;
  }

  probe(patience: number): void {
    this.#connections.probe(patience);
  }

  reconnect(): void {
    this.#connections.reconnect();
  }

  renew(): void {
    void this.#connections.renew();
  }

  async close(): Promise<void> {
    for (const name of this.#channels.keys()) this.unlisten(name);
    await this.#connections.delete(this);
  }

  // --- called by the connections ---

  suspend(reason: unknown): void {
    this.#observer.suspend(reason);
  }

  resume(server?: string): void {
    this.run = server ?? Symbol();
    // The number of the database may be unknown before the first connection.
    this.#channelBase ||= channelBaseOf(this.#base, this.#connections.factory.database);
    this.#observer.resume(server);
  }

  recheck(): void {
    this.#observer.recheck();
  }

  #channel(name: string): string {
    return channelOf(this.#channelBase, name);
  }

  readonly #receive = (message: string): void => this.#observer.receive(message);
}
