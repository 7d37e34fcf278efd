/**
 * The rules of a mutual exclusion lock: a semaphore of one permit, whose holder may have an owner. Apart from `Mutex`, so
 * that a bundle with `KeyedMutex` alone does not contain it.
 */

import { checkFunction, describe, ReentrancyError } from '../errors.js';
import type { WaitOptions } from '../options.js';
import { type Permit, runWith } from '../semaphore/permit.js';
import type { Semaphore } from '../semaphore/semaphore.js';
import { readRequest } from '../wait/priority-queue.js';
import type { WaitRequest } from '../wait/queue.js';

/** Options for {@link Mutex.tryLock}. */
export interface TryLockOptions {
  /**
   * Identifies the caller: any value except `undefined`, compared by identity. If the same owner holds the lock, the
   * request is rejected with a `ReentrancyError`, because it would wait for itself forever.
   */
  readonly owner?: unknown;
}

/** Options for {@link Mutex.lock}. */
export interface LockOptions extends WaitOptions, TryLockOptions {
  /** As in `AcquireOptions.priority`. */
  readonly priority?: number | undefined;
}

/** @internal */
export const lockNames: readonly string[] = ['owner', 'priority', 'signal', 'timeout'];
/** @internal */
export const tryLockNames: readonly string[] = ['owner'];

/** @internal Throws if the lock is closed, or `owner` holds it. */
export function checkOwner(lock: Semaphore, { owner }: WaitRequest): void {
  lock._refuse();
  if (owner === undefined || !Object.is(owner, lock._owner)) return;
  const message = `${lock._label}owner ${describe(owner)} holds the lock already`;
  throw new ReentrancyError(message, owner);
}

function read(lock: Semaphore, options: LockOptions, names = lockNames): WaitRequest {
  const request = readRequest(options, names);
  checkOwner(lock, request);
  return request;
}

/** @internal */
export function acquire(lock: Semaphore, options?: LockOptions): Promise<Permit> {
  if (options === undefined) return lock.acquire();
  return Promise.resolve(lock._request(read(lock, options)));
}

/** @internal */
export function tryAcquire(lock: Semaphore, options?: TryLockOptions): Permit | undefined {
  return options === undefined ? lock.tryAcquire() : lock._take(read(lock, options, tryLockNames));
}

/** @internal */
export function run<T>(
  lock: Semaphore,
  fn: (lock: Permit) => T | PromiseLike<T>,
  options?: LockOptions,
): Promise<T> {
  checkFunction('fn', fn);
  return runWith(lock._request(options === undefined ? undefined : read(lock, options)), fn);
}

/** @internal Throws unless `permit` is held and was granted by `lock`. */
export function assertHeld(lock: Semaphore | undefined, permit: Permit): void {
  if (lock !== undefined && permit?._issuer === lock) return;
  let state = describe(permit);
  if (permit?.released === true) state = 'a lock that was released';
  if (permit?.released === false) state = 'a lock of another mutex or one that waits';
  throw new TypeError(`lock must be the held lock of this mutex, got ${state}`);
}
