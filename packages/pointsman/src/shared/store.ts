/**
 * A store keeps the state that processes share. The primitives depend only on this file.
 *
 * Invariant: a store is connected while one of its primitives is open, from the primitive's first request until it is
 * closed. A closed store refuses every later request.
 */

import { asyncDispose } from '../sync/dispose.js';
import { ClosedError, detached, invalid } from '../sync/errors.js';
import { labelOf } from './errors.js';
import { readNamespace, readProcessName, readTtl, type StoreOptions } from './options.js';
import type { Batch, Reply } from './protocol/protocol.js';

/**
 * Keeps the state that processes share: `redis` of `pointsman/redis` or `host` of `pointsman/host` returns a store. It
 * is the first argument of each primitive of `pointsman/shared`.
 *
 * Connects with the first request of a primitive, and disconnects when its last open primitive has closed.
 */
export interface Store {
  readonly namespace: string;
  /** Milliseconds for which a lock outlives a process that has died or is suspended. */
  readonly ttl: number;
  /**
   * Creates a store of another namespace with the same options and connections. It is closed with this one.
   *
   * @throws {TypeError} if the namespace is invalid; the reason of {@link close} if this store is closed.
   */
  withNamespace(namespace: string): Store;
  /**
   * Closes all primitives of this store at once, with the same reason, any value, by default a `ClosedError`. Resolves
   * when they are closed and the store is disconnected. New requests are refused with the reason.
   */
  close(reason?: unknown): Promise<void>;
  /** Refuses new requests, calls `shutdown` of all primitives and disconnects, for `await using`. */
  [asyncDispose](): Promise<void>;
}

/** A request will get no reply. The store may or may not have processed it. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
}

/** The connection of one session to its namespace of the store. Channels are named by process; '' is that of all. */
export interface Link {
  /** Names the run of the store on its last connection. Another run may lack the latest changes; if it is unknown, it differs. */
  readonly run: unknown;
  /**
   * Applies a batch as a whole. Batches are applied in the order of the calls. Rejects with a {@link ConnectionLostError}
   * if it is unknown whether the batch was applied, and with the store's error if it was refused. After a
   * `ConnectionLostError` with a `cause`, {@link renew} may help.
   */
  exchange(batch: Batch): Promise<Reply>;
  /** Resolves when no later message in the channel will be missed. */
  listen(channel: string): Promise<void>;
  unlisten(channel: string): void;
  /** Returns 0 if messages of a channel may be missed; otherwise a number that stays the same while none can have been. */
  continuity(channel: string): number;
  /** Checks that messages still arrive, or connects again if a check has had no answer for `patience` milliseconds. */
  probe(patience: number): void;
  /** Drops the connections, which may be half-open, and connects again. */
  reconnect(): void;
  /** Prepares the connections again, after the store has lost what they need. */
  renew(): void;
  /** Disconnects; the last link of a store disconnects the store. */
  close(): Promise<void>;
}

/** The session at the end of a {@link Link}. Every loss causes one `suspend`, followed by one `resume`. */
export interface LinkObserver {
  /** The store cannot be reached. Requests without a reply may or may not have been processed. */
  suspend(reason: unknown): void;
  /** The store can be reached again. Another `run` than before may lack the latest changes; undefined is unknown. */
  resume(run?: string): void;
  /** Messages may have been missed. */
  recheck(): void;
  receive(message: string): void;
}

/** Connects a session. May call the observer before it returns. */
export type Connect = (namespace: string, observer: LinkObserver) => Link;

/** An open primitive of a store. */
export interface Primitive {
  close(reason: unknown): Promise<void>;
  shutdown(): Promise<void>;
}

/** The base of every store. */
export class BaseStore implements Store {
  readonly namespace: string;
  readonly ttl: number;
  /** The name of this process, if it was given one. */
  readonly name: string | undefined;
  readonly #connect: Connect;
  readonly #parent: BaseStore | undefined;
  readonly #primitives = new Set<Primitive>();
  #refusal: { readonly reason: unknown } | undefined;
  #closing: Promise<void> | undefined;

  constructor(connect: Connect, options: StoreOptions, parent?: BaseStore) {
    const { namespace = 'pointsman', ttl = 5_000, name } = options;
    this.namespace = readNamespace(namespace);
    this.ttl = readTtl(ttl);
    this.name = name === undefined ? undefined : readProcessName(name);
    this.#connect = connect;
    this.#parent = parent;
  }

  withNamespace(namespace: string): BaseStore {
    if (!(this instanceof BaseStore)) throw detached('withNamespace');
    this.refuseIfClosed();
    const { ttl, name } = this;
    return new BaseStore(this.#connect, { namespace: readNamespace(namespace), ttl, name }, this);
  }

  close(reason?: unknown): Promise<void> {
    if (!(this instanceof BaseStore)) return Promise.reject(detached('close'));
    const given = reason === undefined ? this.#closedError() : reason;
    this.#refusal ??= { reason: given };
    this.#closing ??= this.#endAll((primitive) => primitive.close(given));
    return this.#closing;
  }

  async [asyncDispose](): Promise<void> {
    this.#refusal ??= { reason: this.#closedError() };
    await this.#endAll((primitive) => primitive.shutdown());
  }

  get closed(): boolean {
    return this.#refusal !== undefined || this.#parent?.closed === true;
  }

  refuseIfClosed(): void {
    if (this.#refusal !== undefined) throw this.#refusal.reason;
    this.#parent?.refuseIfClosed();
  }

  /** Adds an open primitive, which is closed with the store. */
  add(primitive: Primitive): void {
    this.#primitives.add(primitive);
    this.#parent?.add(primitive);
  }

  delete(primitive: Primitive): void {
    this.#primitives.delete(primitive);
    this.#parent?.delete(primitive);
  }

  connect(observer: LinkObserver): Link {
    return this.#connect(this.namespace, observer);
  }

  #closedError(): ClosedError {
    return new ClosedError(`${labelOf(this.name)}the store is closed`);
  }

  async #endAll(end: (primitive: Primitive) => Promise<void>): Promise<void> {
    await Promise.all([...this.#primitives].map(end));
  }
}

export function checkStore(store: unknown): asserts store is BaseStore {
  if (!(store instanceof BaseStore)) {
    throw invalid('store', store, "a store, such as redis() of 'pointsman/redis' returns");
  }
}
