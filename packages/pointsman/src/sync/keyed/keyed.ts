/**
 * One primitive for each key, for exactly as long as it is in use.
 *
 * Invariant: a key has an entry while somebody holds it or waits for it, and only then. The entries
 * never leave this module, only permits do; so nobody can hold on to an entry that was dropped, and one
 * key can never have two.
 */

import { Drainable, type Ending } from '../closable.js';
import { causeOf, describe, detached } from '../errors.js';
import { type QueueOptions, readQueueOptions } from '../wait/queue.js';

/** What {@link KeyedSemaphore}, {@link KeyedMutex} and {@link KeyedRwLock} have in common. */
export abstract class Keyed<Key, Entry extends Drainable> extends Drainable {
  readonly #entries = new Map<Key, Entry>();
  /** @internal */
  readonly _options: ReturnType<typeof readQueueOptions>;

  constructor(options?: QueueOptions) {
    const read = readQueueOptions(options);
    super(read.label);
    this._options = read;
  }

  /** How many keys are held or waited for. */
  get keyCount(): number {
    return this.#entries.size;
  }

  /** Whether no key is held and nobody waits. */
  get idle(): boolean {
    return this.keyCount === 0;
  }

  /** The keys that are held or waited for, in the order in which they came into use. */
  keys(): IterableIterator<Key> {
    if (!(this instanceof Keyed)) throw detached('keys');
    return this.#entries.keys();
  }

  /** The number of waiting requests of all keys. A request for several keys counts once for each. Takes O(keys) time. */
  get waiting(): number {
    let waiting = 0;
    for (const entry of this.#entries.values()) waiting += entry.waiting;
    return waiting;
  }

  /** How many requests wait for this key. */
  waitingFor(key: Key): number {
    if (!(this instanceof Keyed)) throw detached('waitingFor');
    return this._find(key)?.waiting ?? 0;
  }

  /** @internal */
  get _active(): number {
    let active = 0;
    for (const entry of this.#entries.values()) active += entry._active;
    return active;
  }

  /** @internal Ends all entries. An entry that is created later has ended from the start, so it refuses its request. */
  override _end(ending: Ending): void {
    super._end(ending);
    for (const entry of this.#entries.values()) entry._end(ending);
  }

  /** @internal */
  _dismiss(reason: unknown): void {
    for (const entry of this.#entries.values()) entry._dismiss(reason);
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
    if (this._ending) entry._end(this._ending);
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
export function requestOf<Key, Entry extends Drainable, Result>(
  keyed: Keyed<Key, Entry>,
  method: string,
  key: Key,
  request: (entry: Entry) => Promise<Result>,
): Promise<Result> {
  try {
    return keyed._request(key, request);
  } catch (error) {
    return Promise.reject(causeOf(error, keyed, Keyed, method));
  }
}
