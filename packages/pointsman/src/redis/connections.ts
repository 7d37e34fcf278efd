/**
 * The two connections of a store, for commands and for messages, shared by its sessions. They open with the first one,
 * and close with the last.
 *
 * Invariant: nothing is sent before the server has been checked and prepared. For each session, every loss of a
 * connection causes one `suspend`, followed by one `resume`.
 *
 * Each connection can become half-open, without an event. Therefore each must reply in time, or it is dropped: the one
 * for commands while the server is being prepared, and afterwards to the sessions; the one for messages to `probe`.
 */

import { StoreError } from '../shared/errors.js';
import { ConnectionLostError } from '../shared/store.js';
import type {
  CommandConnection,
  ConnectionFactory,
  SubscriberConnection,
} from './connection/connection.js';
import { type Handler, runOf } from './handlers/handler.js';

export interface ConnectionObserver {
  /** One of its keys, which determines the node of a cluster. */
  readonly key: string;
  readonly handler: Handler;
  /** The server cannot be reached. Commands without a reply may or may not have been processed. */
  suspend(reason: unknown): void;
  /** The server can be reached again; `server` is its run id, if known. */
  resume(server?: string): void;
  /** Messages may have been missed. */
  recheck(): void;
}

const notConnected = () => new ConnectionLostError('not connected');

const OLDEST_REDIS = [6, 2] as const;
/** Milliseconds that the preparation of a session may take; on a half-open connection it never ends. */
const PREPARE_PATIENCE = 3_000;

/** Refuses a server that is too old; one that does not report its version is accepted. Resolves to its run. */
async function checkServer(
  connection: CommandConnection,
  key: string,
): Promise<string | undefined> {
  const info = await connection.call(key, 'INFO', 'server').catch((error) => {
    if (error instanceof ConnectionLostError) throw error;
    return '';
  });
  const found = /^(?:valkey|redis)_version:((\d+)\.(\d+)\S*)/m.exec(String(info));
  if (found === null) return undefined;
  const [, version, major, minor] = found;
  if (
    Number(major) < OLDEST_REDIS[0] ||
    (Number(major) === OLDEST_REDIS[0] && Number(minor) < OLDEST_REDIS[1])
  ) {
    throw new StoreError(
      `the server must be Redis ${OLDEST_REDIS.join('.')} or later, or Valkey, got ${version}`,
    );
  }
  return runOf(String(info));
}

export interface SharedSubscription {
  readonly listeners: Set<(message: string) => void>;
  readonly subscribed: Promise<void>;
  /**
   * 0 while messages may be missed; otherwise a number that stays the same while none can have been: that of its latest
   * confirmation by the server, counted over all channels.
   */
  confirmed: number;
}

export class Connections {
  readonly factory: ConnectionFactory;
  readonly #observers = new Set<ConnectionObserver>();
  #commands: CommandConnection | undefined;
  #subscriber: SubscriberConnection | undefined;
  readonly #channels = new Map<string, SharedSubscription>();
  #confirmations = 0;
  /** When the unanswered probe was sent. */
  #probedAt: number | undefined;
  #ready = false;
  /** Counts connections: a preparation begun on an older one is not finished on a newer one. */
  #generation = 0;
  #reason: unknown = notConnected();

  constructor(factory: ConnectionFactory) {
    this.factory = factory;
  }

  get commands(): CommandConnection {
    this.#commands ??= this.factory.commands({
      up: () => void this.#up(),
      down: (reason) => this.#down(reason),
    });
    return this.#commands;
  }

  get subscriber(): SubscriberConnection {
    this.#subscriber ??= this.factory.subscriptions({
      up: () => {
        for (const channel of this.#channels.values()) channel.confirmed = ++this.#confirmations;
        for (const observer of this.#observers) observer.recheck();
      },
      down: () => {
        for (const channel of this.#channels.values()) channel.confirmed = 0;
      },
    });
    return this.#subscriber;
  }

  listen(name: string, listener: (message: string) => void): SharedSubscription {
    let channel = this.#channels.get(name);
    if (channel === undefined) {
      const listeners = new Set<(message: string) => void>();
      const subscribed = this.subscriber.subscribe(name, (message) => {
        for (const each of listeners) each(message);
      });
      const made: SharedSubscription = { listeners, subscribed, confirmed: 0 };
      subscribed.then(
        () => {
          made.confirmed = ++this.#confirmations;
        },
        () => {
          if (this.#channels.get(name) === made) this.#channels.delete(name);
        },
      );
      this.#channels.set(name, made);
      channel = made;
    }
    channel.listeners.add(listener);
    return channel;
  }

  unlisten(name: string, listener: (message: string) => void): void {
    const channel = this.#channels.get(name);
    if (!channel?.listeners.delete(listener) || channel.listeners.size > 0) return;
    this.#channels.delete(name);
    this.subscriber.unsubscribe(name).catch(() => {});
  }

  add(observer: ConnectionObserver): void {
    this.#observers.add(observer);
    if (this.#ready) void this.#prepare([observer], this.#generation);
    else observer.suspend(this.#reason);
  }

  /** Closes the connections with the last observer. */
  async delete(observer: ConnectionObserver): Promise<void> {
    if (!this.#observers.delete(observer) || this.#observers.size > 0) return;
    this.#down(notConnected());
    const connections = [this.#commands, this.#subscriber];
    this.#commands = undefined;
    this.#subscriber = undefined;
    this.#probedAt = undefined;
    await Promise.all(connections.map((connection) => connection?.close()));
  }

  /** Pings the connection for messages, or drops it if a ping has had no reply for `patience` milliseconds. */
  probe(patience: number): void {
    if (this.#subscriber === undefined) return;
    const at = performance.now();
    if (this.#probedAt === undefined) {
      const answered = (): void => {
        this.#probedAt = undefined;
      };
      this.#probedAt = at;
      this.#subscriber.ping().then(answered, answered);
    } else if (at - this.#probedAt > patience) {
      this.#subscriber.reconnect();
    }
  }

  reconnect(): void {
    this.#commands?.reconnect();
    this.#subscriber?.reconnect();
  }

  /** Prepares the server again, after it has lost what a handler had prepared. */
  async renew(): Promise<void> {
    if (!this.#ready) return;
    this.#down(new ConnectionLostError('the server has to be prepared again'));
    await this.#up();
  }

  async #up(): Promise<void> {
    this.#ready = true;
    await this.#prepare([...this.#observers], ++this.#generation);
  }

  async #prepare(added: readonly ConnectionObserver[], generation: number): Promise<void> {
    const { commands } = this;
    for (const observer of added) {
      const timer = setTimeout(() => commands.reconnect(), PREPARE_PATIENCE).unref();
      try {
        const server = await checkServer(commands, observer.key);
        await observer.handler.prepare();
        if (generation === this.#generation && this.#observers.has(observer))
          observer.resume(server);
      } catch (error) {
        if (generation === this.#generation) observer.suspend(error);
      } finally {
        clearTimeout(timer);
      }
    }
  }

  #down(reason: unknown): void {
    this.#generation++;
    this.#ready = false;
    this.#reason = reason;
    for (const observer of this.#observers) observer.suspend(reason);
  }
}
