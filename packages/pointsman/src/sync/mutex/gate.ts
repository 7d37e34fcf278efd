/**
 * What a mutex and a key of a keyed mutex are made of: a semaphore of one permit that also knows the owner of the
 * permit that is out. Invariant: `owner` changes in the same step as the lock, also when the lock goes from one
 * waiter to the next.
 *
 * Apart from `Mutex`, so that whoever bundles `KeyedMutex` alone does not pay for it.
 */

import type { Ending } from '../closable.js';
import { describe, ReentrancyError } from '../errors.js';
import type { Permit } from '../semaphore/permit.js';
import { Semaphore } from '../semaphore/semaphore.js';
import type { QueueOptions, Waiter, WaitRequest } from '../wait/queue.js';

/** @internal */
export const lockNames: ReadonlySet<string> = new Set(['owner', 'priority', 'signal', 'timeout']);
/** @internal */
export const tryLockNames: ReadonlySet<string> = new Set(['owner']);

/**
 * The semaphore behind a mutex: it knows its holder's owner. Nobody else should want to hold
 * several permits, so its limit stays 1.
 */
export class Gate extends Semaphore {
  #holder: Permit | undefined;
  #owner: unknown;
  /** @internal The pending waits at conditions. Calling an element ends that wait with a reason, without the lock. */
  _conditionWaits: Set<(reason: unknown) => void> | undefined;

  constructor(options?: QueueOptions) {
    super(1, options);
  }

  get owner(): unknown {
    return this.#holder?._issuer === this ? this.#owner : undefined;
  }

  /** @internal */
  override get _waitNames(): ReadonlySet<string> {
    return lockNames;
  }

  /** @internal */
  override get _tryNames(): ReadonlySet<string> {
    return tryLockNames;
  }

  /** @internal */
  override _refuse(request: WaitRequest): void {
    super._refuse(request);
    const { owner } = request;
    if (owner !== undefined && Object.is(owner, this.owner)) {
      throw new ReentrancyError(
        `${this._label}owner ${describe(owner)} holds the lock already`,
        owner,
      );
    }
  }

  /** @internal */
  override _grant(request: Waiter): Permit | undefined {
    return this._hold(super._grant(request) as Permit, request.owner);
  }

  /** @internal From now on the lock is this permit's. */
  _hold(holder: Permit, owner: unknown): Permit {
    holder._issuer = this;
    this.#holder = holder;
    this.#owner = owner;
    this._watched = true;
    return holder;
  }

  /** @internal Acquires the lock again for a wait at a condition, also after a shutdown: the wait began with the lock. */
  _reacquire(): Promise<Permit> {
    const ending = this._ending;
    if (!ending) return this.acquire();
    this._ending = undefined;
    const again = this.acquire();
    this._ending = ending;
    return again;
  }

  override close(reason?: unknown): void {
    super.close(reason);
    this._endConditionWaits(reason);
  }

  /** @internal */
  override _end(ending: Ending): void {
    super._end(ending);
    if (this.idle) this._endConditionWaits();
  }

  /** @internal */
  override _idled(): void {
    this.#owner = this.#holder = undefined;
    if (this._conditionWaits && this._ending) this._endConditionWaits();
    super._idled();
  }

  /** @internal Ends all waits at conditions: the lock is refused from now on, so no holder can notify them. */
  _endConditionWaits(reason = this._ending?.reason): void {
    this._conditionWaits?.forEach((end) => {
      end(reason);
    });
  }
}

/** @internal Throws unless `lock` is the lock that this gate has given and not got back. */
export function assertHeld(gate: Gate | undefined, lock: Permit): void {
  if (gate !== undefined && lock?._issuer === gate) return;
  let state = describe(lock);
  if (lock?.released === true) state = 'a lock that was released';
  if (lock?.released === false) state = 'a lock of another mutex or one that waits';
  throw new TypeError(`lock must be the held lock of this mutex, got ${state}`);
}
