/**
 * One primitive for each key, exactly while the key is held or a request waits for it.
 *
 * Invariant: primitives never leave this package, only permits do. So only released permits and settled requests refer
 * to an idle primitive, a key never has two, and one that was dropped can serve another key.
 */

import { Drainable, type Ending } from '../closable.js';
import { causeOf, describe, detached } from '../errors.js';
import { type QueueOptions, readQueueOptions } from '../wait/queue.js';

/** What {@link KeyedSemaphore}, {@link KeyedMutex} and {@link KeyedRwLock} have in common. */
export abstract class Keyed<Key, Primitive extends Drainable> extends Drainable {
  readonly #primitives = new Map<Key, Primitive>();
  readonly #create: (options: QueueOptions) => Primitive;
  /** The last primitive that was dropped, for the next new key: to create one takes longer than all else. */
  #spare: Primitive | undefined;
  /** @internal */
  readonly _options: ReturnType<typeof readQueueOptions>;

  /** @internal `create` makes the primitive of a key. */
  constructor(options: QueueOptions | undefined, create: (options: QueueOptions) => Primitive) {
    const read = readQueueOptions(options);
    super(read.label);
    this._options = read;
    this.#create = create;
  }

  /** The number of keys that are held or waited for. */
  get keyCount(): number {
    return this.#primitives.size;
  }

  /** Whether no key is held and no request waits. */
  get idle(): boolean {
    return this.keyCount === 0;
  }

  /** The keys that are held or waited for, in the order in which they came into use. */
  keys(): IterableIterator<Key> {
    if (!(this instanceof Keyed)) throw detached('keys');
    return this.#primitives.keys();
  }

  /** The number of waiting requests of all keys; a request for several keys counts for each. Takes O(keys) time. */
  get waiting(): number {
    let waiting = 0;
    for (const primitive of this.#primitives.values()) waiting += primitive.waiting;
    return waiting;
  }

  /** The number of waiting requests for this key. */
  waitingFor(key: Key): number {
    if (!(this instanceof Keyed)) throw detached('waitingFor');
    return this._find(key)?.waiting ?? 0;
  }

  /** @internal */
  get _active(): number {
    let active = 0;
    for (const primitive of this.#primitives.values()) active += primitive._active;
    return active;
  }

  /** @internal A primitive that is created later is ended when it is created. */
  override _end(reason?: unknown): Ending {
    const ending = super._end(reason);
    for (const primitive of this.#primitives.values()) primitive._ending = ending;
    return ending;
  }

  /** @internal */
  _dismiss(reason: unknown): void {
    for (const primitive of this.#primitives.values()) primitive._dismiss(reason);
  }

  /** @internal */
  _find(key: Key): Primitive | undefined {
    return this.#primitives.get(key);
  }

  /** @internal Makes a request of the key's primitive, which is created if there is none. */
  _request<Args extends unknown[], Result>(
    key: Key,
    request: (primitive: Primitive, ...args: Args) => Result,
    ...args: Args
  ): Result {
    const primitives = this.#primitives;
    const found = primitives.get(key);
    if (found) return request(found, ...args);
    const { name, maxWaiting } = this._options;
    const primitive =
      this.#spare ?? this.#create({ name: name && `${name} ${describe(key)}`, maxWaiting });
    this.#spare = undefined;
    if (this._ending) primitive._ending = this._ending;
    primitives.set(key, primitive);
    const drop = () => {
      // A primitive may report twice that it is idle, the second time when it serves no key.
      primitive._onIdle = undefined;
      primitives.delete(key);
      // The messages of one with a name contain its key.
      if (!name) this.#spare = primitive;
      if (this.idle) this._idled();
    };
    try {
      return request(primitive, ...args);
    } finally {
      // Not before: an option with a getter may lock and release the key, and the request then needs the primitive.
      primitive._onIdle = drop;
      // The request was refused or has been released: no later release makes the primitive idle.
      if (primitive.idle) drop();
    }
  }
}

/** @internal Makes a request that returns a promise, which rejects with the error that `request` throws. */
export function requestOf<Key, Primitive extends Drainable, Args extends unknown[], Result>(
  keyed: Keyed<Key, Primitive>,
  method: string,
  key: Key,
  request: (primitive: Primitive, ...args: Args) => Promise<Result>,
  ...args: Args
): Promise<Result> {
  try {
    return keyed._request(key, request, ...args);
  } catch (error) {
    return Promise.reject(causeOf(error, keyed, Keyed, method));
  }
}
