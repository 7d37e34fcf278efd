/**
 * Locks several keys of a keyed mutex at once, all or none.
 *
 * A request waits in the queue of each key. At the front of the queue of a free key it is offered the key; it takes all
 * keys in one step when it has been offered all. Until then the key stays free and no request behind is served. So a
 * waiting request holds nothing, and there is no deadlock with any priorities.
 *
 * Invariant: a request takes its keys only while each is free and has the request at the front of its queue.
 */

import { checkFunction, detached, fullError, invalid, timedOut } from '../errors.js';
import {
  checkOwner,
  type LockOptions,
  lockNames,
  type TryLockOptions,
  tryLockNames,
} from '../mutex/lock.js';
import { Permit, runWith } from '../semaphore/permit.js';
import type { Semaphore } from '../semaphore/semaphore.js';
import { callAll, contestOf, giveUpOn, isOver, OwnSignal, winContest } from '../wait/give-up.js';
import { readRequest } from '../wait/priority-queue.js';
import type { WaitRequest } from '../wait/queue.js';
import { Keyed } from './keyed.js';

const partNames: readonly string[] = [...lockNames, 'group'];

type Locking<Key> = Keyed<Key, Semaphore>;

/** The locks of several keys, as {@link KeyedMutex.lockAll} grants them. They are released together, once. */
export class Locks<Key> extends Permit {
  /** @internal */
  declare readonly _locks: ReadonlyMap<Key, Permit>;

  /** @internal */
  constructor(locks: ReadonlyMap<Key, Permit>) {
    super({ _giveBack: () => giveBack(locks) }, locks.size);
    this._locks = locks;
  }

  /** The keys, each once, in the order in which they were first given. */
  get keys(): Key[] {
    return [...this._locks.keys()];
  }
}

function giveBack(locks: ReadonlyMap<unknown, Permit>): void {
  for (const lock of locks.values()) lock._giveBack();
}

/** A request for several keys. It is the `group` of its parts, the requests for the single keys. */
class MultiKeyRequest {
  readonly #count: number;
  /** The keys that were offered; another request may have taken one since. */
  readonly #offers = new Set<Semaphore>();
  #taken = false;

  constructor(count: number) {
    this.#count = count;
  }

  /** Whether it takes this key now. If so, it takes the others in the same step. */
  offer(lock: Semaphore): boolean {
    if (this.#taken) return true;
    const offers = this.#offers.add(lock);
    if (offers.size < this.#count) return false;
    for (const other of offers) {
      // `lock` is being offered now. Its part may take it without having been in its queue.
      const isFree = other === lock || (other.available > 0 && other._front?.group === this);
      if (!isFree) offers.delete(other);
    }
    if (offers.size < this.#count) return false;
    this.#taken = true;
    for (const other of offers) if (other !== lock) other._serve();
    return true;
  }
}

function readKeys<Key>(keys: Iterable<Key>): Set<Key> {
  if (typeof keys !== 'object' || keys?.[Symbol.iterator] === undefined) {
    throw invalid('keys', keys, 'an iterable of keys');
  }
  return new Set(keys);
}

/** Takes the locks of all keys, if none is held or waited for. Throws if one of them is refused. */
function take<Key>(
  keyed: Locking<Key>,
  keys: Set<Key>,
  request: WaitRequest,
): Locks<Key> | undefined {
  let idle = true;
  for (const key of keys) {
    const lock = keyed._find(key);
    if (lock) checkOwner(lock, request);
    if (lock?.idle === false) idle = false;
  }
  if (!idle) return undefined;
  const locks = new Map<Key, Permit>();
  for (const key of keys) {
    locks.set(key, keyed._request(key, (lock) => lock._take(request)) as Permit);
  }
  winContest(request.signal);
  return new Locks(locks);
}

/** @internal */
export const tryLockAll = <Key>(
  keyed: Locking<Key>,
  keys: Iterable<Key>,
  options?: TryLockOptions,
): Locks<Key> | undefined => take(keyed, readKeys(keys), readRequest(options, tryLockNames));

/** @internal */
export const lockAll = <Key>(
  keyed: Locking<Key>,
  method: string,
  given: Iterable<Key>,
  options?: LockOptions,
): Promise<Locks<Key>> =>
  new Promise((resolve, reject) => {
    if (!(keyed instanceof Keyed)) throw detached(method);
    const keys = readKeys(given);
    const request = readRequest(options, lockNames);
    const locks = take(keyed, keys, request);
    if (locks) return resolve(locks);
    const { maxWaiting, label } = keyed._options;
    if (request.timeout === 0) throw timedOut(0, label);
    for (const key of keys) {
      const lock = keyed._find(key);
      if ((lock?.waiting ?? 0) < maxWaiting) continue;
      throw fullError(lock?._label ?? label, maxWaiting);
    }

    const group = new MultiKeyRequest(keys.size);
    let granted = 0;
    let over = false;
    // The waits for the keys win together; for an outer contest they are one wait.
    const signal = new OwnSignal({
      root: contestOf(request.signal)?.root,
      isLost: () => over || isOver(request.signal),
      decide() {
        if (++granted < keys.size) return undefined;
        stop();
        return contestOf(request.signal)?.decide(request.signal);
      },
    });
    const leave = (reason: unknown): void => {
      over = true;
      stop();
      callAll(signal.set, reason);
      reject(reason);
    };
    const stop = giveUpOn(
      request,
      (reason) => {
        // With fewer listeners, `close` or `cancel` has rejected a part earlier in this step, and its reason counts.
        if (signal.set.size === keys.size) leave(reason);
      },
      (timeout) => timedOut(timeout, label),
    );
    const { priority, owner } = request;
    const part = { priority, owner, group, signal: signal as unknown as AbortSignal };
    const permits = [...keys].map((key) =>
      keyed._request(key, (lock) => lock._request(readRequest(part, partNames))),
    );
    Promise.all(permits).then(
      (all) => {
        resolve(new Locks(new Map([...keys].map((key, n) => [key, all[n] as Permit]))));
      },
      // A queue that rejects a part because its signal is over gives no reason.
      (reason) => leave(reason === undefined ? request.signal?.reason : reason),
    );
  });

/** @internal */
export const runAll = async <Key, T>(
  keyed: Locking<Key>,
  keys: Iterable<Key>,
  fn: (locks: Locks<Key>) => T | PromiseLike<T>,
  options?: LockOptions,
): Promise<T> => {
  if (!(keyed instanceof Keyed)) throw detached('runAll');
  checkFunction('fn', fn);
  return runWith(await lockAll(keyed, 'runAll', keys, options), fn);
};
