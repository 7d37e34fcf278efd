/**
 * What the primitives that claim keys have in common: a session with the store.
 *
 * Invariant: a primitive has one session, created by the first request.
 */

import { randomUUID } from 'node:crypto';
import { detached, timedOut } from '../sync/errors.js';
import type { WaitOptions } from '../sync/options.js';
import {
  Acquisition,
  type Queue,
  type Resolve,
  type SharedGuard,
  type Terms,
} from './acquisition.js';
import { LockLostError, labelOf } from './errors.js';
import { SharedLifecycle } from './lifecycle.js';
import { Metrics } from './metrics.js';
import { defaultName } from './options.js';
import type { Share } from './protocol/protocol.js';
import { describeQuery, type HeldLock, type LocalWaiter, type WaitingLock } from './query.js';
import { Session } from './session/session.js';
import { checkStore, type Store } from './store.js';
import { StrictQueue } from './strict.js';

export abstract class SharedPrimitive extends SharedLifecycle {
  /** @internal The name of this process in the store. */
  readonly _process: string;
  /** @internal */
  readonly _metrics = new Metrics(this._activity);
  #strict: StrictQueue | undefined;

  /** @internal `kind` is the word for the primitive in error messages. */
  constructor(store: Store, kind: string, name?: string, label?: string) {
    checkStore(store);
    const given = name ?? store.name;
    super(store, kind, label ?? labelOf(given));
    this._process = `${given ?? defaultName()}-${randomUUID().slice(0, 8)}`;
  }

  /**
   * Returns the held locks and the waiting requests of the namespace, in order: those of every primitive that the store
   * knows, and the requests that wait behind others of this process.
   */
  async query(): Promise<{ held: HeldLock[]; waiting: WaitingLock[] }> {
    if (!(this instanceof SharedPrimitive)) throw detached('query');
    return describeQuery(await this._open().session.query(), this._localWaiters);
  }

  /** @internal */
  async _end(reason: unknown): Promise<void> {
    if (this.#strict === undefined) return;
    const message = `${this._label}the ${this._kind} was closed`;
    const lost = new LockLostError(message, { cause: reason });
    const acquisitions = (): Acquisition[] =>
      this._queues.flatMap((queue) => [...queue.acquisitions]);
    for (const acquisition of acquisitions()) acquisition.giveUp(reason);
    for (const acquisition of acquisitions()) acquisition.takeAway(lost);
    await this.#strict.session.close(reason);
  }

  /** @internal Requests keys through the store's queue. Resolves to undefined if they are not free and `wait` is false. */
  _request(
    keys: readonly string[],
    options: WaitOptions & { readonly maxHold?: number | undefined },
    share: Share | undefined,
    wait: boolean,
  ): Promise<SharedGuard | undefined> {
    return new Promise((resolve) => {
      const { signal, timeout, maxHold } = options;
      if (signal?.aborted) throw signal.reason;
      this._refuseIfClosed();
      const queue = this._queue();
      this._enter(queue, keys, { signal, timeout }, { wait, maxHold, share }, resolve);
    });
  }

  /** @internal Enters a queue for `keys`. With a `timeout` of 0 the request does not wait, and rejects instead. */
  _enter(
    queue: Queue,
    keys: readonly string[],
    { signal, timeout }: WaitOptions,
    terms: Terms & { readonly wait: boolean },
    resolve: Resolve,
  ): void {
    const once = timeout === 0;
    const acquisition = new Acquisition(
      queue,
      this._metrics,
      keys,
      { ...terms, wait: terms.wait && !once },
      once ? (guard) => resolve(guard ?? Promise.reject(timedOut(0, this._label))) : resolve,
    );
    acquisition.limit({ signal, timeout: once ? undefined : timeout });
    queue.enter(acquisition);
  }

  /** @internal Runs `fn` under a guard, and releases it when the result has settled. */
  async _runWith<T>(
    acquired: Promise<SharedGuard>,
    fn: (guard: SharedGuard) => T | PromiseLike<T>,
  ): Promise<T> {
    const guard = await acquired;
    try {
      return await fn(guard);
    } finally {
      await guard.release();
    }
  }

  /** @internal Opens the session with the first call. Throws once the primitive is closing, or the store was closed before. */
  _open(): StrictQueue {
    if (this._isClosing) this._refuseIfClosed();
    if (this.#strict === undefined) {
      this._store.refuseIfClosed();
      const session = new Session(this._store, this._process, this._metrics, this._label);
      this._store.add(this);
      this.#strict = new StrictQueue(session);
    }
    return this.#strict;
  }

  /** @internal The queue of {@link _request}. */
  protected _queue(): Queue {
    return this._open();
  }

  /** @internal The requests that the store may not know. */
  get _localWaiters(): readonly LocalWaiter[] {
    return [];
  }

  /** @internal The queues with requests; none before the session is open. */
  get _queues(): readonly Queue[] {
    return this.#strict === undefined ? [] : [this.#strict];
  }
}
