/**
 * One primitive for each key, for exactly as long as it is in use.
 *
 * Invariant: a key has an entry while somebody holds it or waits for it, and only then. The entries
 * never leave this module, only permits do; so nobody can hold on to an entry that was dropped, and one
 * key can never have two.
 */

import { asyncDispose } from './dispose.js';
import { cancelledError, closedError, describe, detached } from './errors.js';
import type { WaitOptions } from './options.js';
import { type QueueOptions, readQueueOptions, readRequest, WaitQueue } from './queue.js';

/** What the primitive of a key must offer, so that it is there for exactly as long as it is in use. */
export interface KeyedEntry {
  readonly waiting: number;
  readonly idle: boolean;
  /** @internal */
  _watched: boolean;
  /** @internal */
  _onIdle: (() => void) | undefined;
  close(reason: unknown): void;
  cancel(reason: unknown): void;
}

/** What {@link KeyedSemaphore}, {@link KeyedMutex} and {@link KeyedRwLock} have in common. */
export abstract class Keyed<Key, Entry extends KeyedEntry> {
  readonly #entries = new Map<Key, Entry>();
  readonly #drains: WaitQueue<void>;
  /** @internal */
  readonly _options: ReturnType<typeof readQueueOptions>;
  #closed: { readonly reason: unknown } | undefined;

  constructor(options?: QueueOptions) {
    this._options = readQueueOptions(options);
    this.#drains = new WaitQueue(this._options.label);
  }

  /** How many keys are held or waited for. */
  get size(): number {
    return this.#entries.size;
  }

  /** Whether {@link close} has been called. */
  get closed(): boolean {
    return this.#closed !== undefined;
  }

  /** The keys that are held or waited for, in the order in which they came into use. */
  keys(): IterableIterator<Key> {
    return this.#entries.keys();
  }

  /** How many requests wait for this key. */
  waiting(key: Key): number {
    return this._find(key)?.waiting ?? 0;
  }

  /** Waits until no key is held and nobody waits. As {@link Semaphore.drain}. */
  async drain(options?: WaitOptions): Promise<void> {
    if (!(this instanceof Keyed)) throw detached('drain');
    const request = readRequest(options);
    if (this.size > 0) await this.#drains.insert(request);
  }

  /** Sends all waiters away and refuses all requests, for any key. As {@link Semaphore.close}. */
  close(reason: unknown = closedError(this._options.label)): void {
    if (this.#closed !== undefined) return;
    this.#closed = { reason };
    for (const entry of this.#entries.values()) entry.close(reason);
  }

  /** Sends all waiters away, for any key, and goes on. As {@link Semaphore.cancel}. */
  cancel(reason: unknown = cancelledError(this._options.label)): void {
    for (const entry of this.#entries.values()) entry.cancel(reason);
  }

  /** Closes it and waits until no key is held: what `await using` calls. */
  [asyncDispose](): Promise<void> {
    this.close();
    return this.drain();
  }

  /** @internal Makes the primitive of a key. Its options are those of all keys. */
  abstract _create(options: QueueOptions): Entry;

  /** @internal */
  _find(key: Key): Entry | undefined {
    return this.#entries.get(key);
  }

  /** @internal Makes a request of the key's entry, which exists if only for this request. */
  _request<Result>(key: Key, request: (entry: Entry) => Result): Result {
    const found = this.#entries.get(key);
    if (found !== undefined) return request(found);
    const { name, maxWaiting } = this._options;
    const entry = this._create({ name: name && `${name} ${describe(key)}`, maxWaiting });
    if (this.#closed !== undefined) entry.close(this.#closed.reason);
    this.#entries.set(key, entry);
    entry._watched = true;
    entry._onIdle = () => {
      // It may be told twice, and the key have another entry by then.
      if (this.#entries.get(key) !== entry) return;
      this.#entries.delete(key);
      if (this.size === 0) this.#drains.resolveAll();
    };
    try {
      return request(entry);
    } finally {
      // Refused, or over already: then nothing will ever come back to make it idle.
      if (entry.idle) entry._onIdle();
    }
  }
}

/** @internal Makes a request that waits, and says so where a method has lost its object. */
export function requestOf<Key, Entry extends KeyedEntry, Result>(
  keyed: Keyed<Key, Entry>,
  method: string,
  key: Key,
  request: (entry: Entry) => Promise<Result>,
): Promise<Result> {
  if (keyed instanceof Keyed) return keyed._request(key, request);
  return Promise.reject(detached(method));
}
