/**
 * One primitive for each key, for exactly as long as it is in use.
 *
 * Invariant: a key has an entry while somebody holds it or waits for it, and only then. The entries
 * never leave this module, only permits do; so nobody can hold on to an entry that was dropped, and one
 * key can never have two.
 */

import { Drainable } from './closable.js';
import { describe } from './errors.js';
import { type QueueOptions, readQueueOptions } from './queue.js';

/** What the primitive of a key must offer, so that it is there for exactly as long as it is in use. */
export interface KeyedEntry extends Drainable {
  readonly waiting: number;
}

/** What {@link KeyedSemaphore}, {@link KeyedMutex} and {@link KeyedRwLock} have in common. */
export abstract class Keyed<Key, Entry extends KeyedEntry> extends Drainable {
  readonly #entries = new Map<Key, Entry>();
  /** @internal */
  readonly _options: ReturnType<typeof readQueueOptions>;

  constructor(options?: QueueOptions) {
    const read = readQueueOptions(options);
    super(read.label);
    this._options = read;
  }

  /** How many keys are held or waited for. */
  get size(): number {
    return this.#entries.size;
  }

  /** Whether no key is held and nobody waits. */
  get idle(): boolean {
    return this.size === 0;
  }

  /** The keys that are held or waited for, in the order in which they came into use. */
  keys(): IterableIterator<Key> {
    return this.#entries.keys();
  }

  /** How many requests wait for this key. */
  waiting(key: Key): number {
    return this._find(key)?.waiting ?? 0;
  }

  /** @internal Those who come later are refused by entries that are closed when they are made. */
  _dismiss(reason: unknown): void {
    for (const entry of this.#entries.values()) {
      if (this.closed) entry.close(reason);
      else entry.cancel(reason);
    }
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
    if (found) return request(found);
    const { name, maxWaiting } = this._options;
    const entry = this._create({ name: name && `${name} ${describe(key)}`, maxWaiting });
    if (this._ending) entry.close(this._ending.reason);
    this.#entries.set(key, entry);
    entry._watched = true;
    entry._onIdle = () => {
      // It may be told twice, and the key have another entry by then.
      if (this.#entries.get(key) !== entry) return;
      this.#entries.delete(key);
      if (this.idle) this._idled();
    };
    try {
      return request(entry);
    } finally {
      // Refused, or over already: then nothing will ever come back to make it idle.
      if (entry.idle) entry._onIdle();
    }
  }
}

/** @internal Makes a request that waits: whatever is wrong, its promise rejects. */
export function requestOf<Key, Entry extends KeyedEntry, Result>(
  keyed: Keyed<Key, Entry>,
  key: Key,
  request: (entry: Entry) => Promise<Result>,
): Promise<Result> {
  try {
    return keyed._request(key, request);
  } catch (error) {
    return Promise.reject(error);
  }
}
