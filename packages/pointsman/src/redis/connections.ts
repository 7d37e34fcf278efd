/**
 * The two connections of a mutex, one for commands and one for messages, and what stands on them.
 *
 * Invariant: nothing is sent before the server has been found fit and prepared, and every loss of a
 * connection is followed, for each session, by one `suspend` and then by one `resume`.
 *
 * A half-open connection says nothing of its loss, and each of the two can be half-open alone: that for
 * commands while the server is prepared, that for messages at any time. So both owe answers, and one
 * that owes them for too long is dropped. Once prepared, that for commands owes them to the sessions.
 */

import {
  type CommandConnection,
  type ConnectionFactory,
  ConnectionLostError,
  type SubscriberConnection,
} from './connection/connection.js';
import { RedisLockError } from './errors.js';
import type { Handler } from './handlers/handler.js';

/** What needs to know how the connections stand. */
export interface ConnectionObserver {
  /** A key of its own, which says where it is in a cluster. */
  readonly key: string;
  readonly handler: Handler;
  /** The server cannot be spoken to; what has no answer yet may or may not have been done. */
  suspend(reason: unknown): void;
  /** The server can be spoken to again; `server` is which one it is, if it tells. */
  resume(server?: string): void;
  /** Messages may have been missed. */
  recheck(): void;
}

const oldest = [6, 2] as const;
/** Milliseconds that a session's preparation may take: on a half-open connection it never ends. */
const patience = 3_000;

/**
 * Refuses a server that is too old; one that does not tell its version gets the benefit of the doubt.
 * Resolves to which run of which server this is: as much of its id as tells them apart. The server keeps
 * a small hash in one piece only while none of its values is longer than 64 bytes.
 */
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
  if (Number(major) < oldest[0] || (Number(major) === oldest[0] && Number(minor) < oldest[1])) {
    throw new RedisLockError(
      `the server must be Redis ${oldest.join('.')} or later, or Valkey, got ${version}`,
    );
  }
  return /^run_id:(\w{8})/m.exec(String(info))?.[1];
}

interface Channel {
  readonly listeners: Set<(message: string) => void>;
  readonly subscribed: Promise<void>;
  /** Which confirmation of the server it has, counted over all; 0 while it has none. */
  confirmed: number;
}

export class Connections {
  readonly factory: ConnectionFactory;
  readonly #observers = new Set<ConnectionObserver>();
  #commands: CommandConnection | undefined;
  #subscriber: SubscriberConnection | undefined;
  /** Sessions of different lease lengths listen in the same channels. */
  readonly #channels = new Map<string, Channel>();
  #confirmations = 0;
  /** When the connection for messages was asked for the answer that it owes. */
  #probedAt: number | undefined;
  #ready = false;
  /** Counts connections, so that what was begun for an older one is not finished on a newer. */
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
        // It has subscribed again before it says so.
        for (const channel of this.#channels.values()) channel.confirmed = ++this.#confirmations;
        for (const observer of this.#observers) observer.recheck();
      },
      down: () => {
        for (const channel of this.#channels.values()) channel.confirmed = 0;
      },
    });
    return this.#subscriber;
  }

  /** Resolves when the server has confirmed it. */
  listen(name: string, listener: (message: string) => void): Promise<void> {
    let channel = this.#channels.get(name);
    if (channel === undefined) {
      const listeners = new Set<(message: string) => void>();
      const subscribed = this.subscriber.subscribe(name, (message) => {
        for (const each of listeners) each(message);
      });
      const made: Channel = { listeners, subscribed, confirmed: 0 };
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
   * Whether a listener certainly hears what is said there: 0 if not, and else a number that stays the
   * same for as long as nothing can have been missed.
   */
  hears(name: string, listener: (message: string) => void): number {
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

  /**
   * Asks for a sign of life on the connection for messages, or drops it if it has owed one for longer
   * than `patience`, in milliseconds.
   */
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

  /** Half-open connections: nothing has been heard for too long. */
  reconnect(): void {
    this.#commands?.reconnect();
    this.#subscriber?.reconnect();
  }

  /** The server has lost what a handler had prepared. */
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
      const timer = setTimeout(() => this.#commands?.reconnect(), patience).unref();
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
