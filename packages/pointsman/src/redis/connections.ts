/**
 * The two connections of a mutex, for commands and for messages, shared by the sessions of its namespaces.
 *
 * Invariant: nothing is sent before the server has been checked and prepared. For each session, every loss of a
 * connection causes one `suspend`, followed by one `resume`.
 *
 * Each connection can become half-open, without an event. Therefore each must reply in time, or it is dropped: the one
 * for commands while the server is being prepared, and afterwards to the sessions; the one for messages to `probe`.
 */

import {
  type CommandConnection,
  type ConnectionFactory,
  ConnectionLostError,
  type SubscriberConnection,
} from './connection/connection.js';
import { RedisLockError } from './errors.js';
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
    throw new RedisLockError(
      `the server must be Redis ${OLDEST_REDIS.join('.')} or later, or Valkey, got ${version}`,
    );
  }
  return runOf(String(info));
}

interface SharedSubscription {
  readonly listeners: Set<(message: string) => void>;
  readonly subscribed: Promise<void>;
  /** The number of its latest confirmation by the server, counted over all channels; 0 while it has none. */
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
  #reason: unknown = new ConnectionLostError('not connected yet');

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

  /** Resolves when the server has confirmed the subscription. */
  listen(name: string, listener: (message: string) => void): Promise<void> {
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
    return channel.subscribed;
  }

  unlisten(name: string, listener: (message: string) => void): void {
    const channel = this.#channels.get(name);
    if (!channel?.listeners.delete(listener) || channel.listeners.size > 0) return;
    this.#channels.delete(name);
    this.subscriber.unsubscribe(name).catch(() => {});
  }

  /**
   * Returns 0 if a listener may miss messages of a channel; otherwise a number that stays the same while no message can
   * have been missed.
   */
  continuity(name: string, listener: (message: string) => void): number {
    const channel = this.#channels.get(name);
    return channel?.listeners.has(listener) ? channel.confirmed : 0;
  }

  add(observer: ConnectionObserver): void {
    this.#observers.add(observer);
    if (this.#ready) void this.#prepare([observer], this.#generation);
    else observer.suspend(this.#reason);
  }

  delete(observer: ConnectionObserver): void {
    this.#observers.delete(observer);
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

  async close(): Promise<void> {
    this.#down(new ConnectionLostError('closed'));
    await Promise.all([this.#commands?.close(), this.#subscriber?.close()]);
  }

  async #up(): Promise<void> {
    this.#ready = true;
    await this.#prepare([...this.#observers], ++this.#generation);
  }

  async #prepare(added: readonly ConnectionObserver[], generation: number): Promise<void> {
    for (const observer of added) {
      const timer = setTimeout(() => this.#commands?.reconnect(), PREPARE_PATIENCE).unref();
      try {
        const server = await checkServer(this.commands, observer.key);
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
