/**
 * Several keys of a keyed mutex at once, all or none.
 *
 * A request stands in the line of each of its keys. Where it is its turn and the key is free, it is offered the key:
 * it takes none until it has been offered all, and then takes all in one step. Until then the key stays free and
 * nobody behind is let in, so that it keeps its place in each line and holds nothing. Nobody waits for somebody who
 * waits, so there is no deadlock, whatever the priorities.
 *
 * Invariant: a request counts the offer of a key for exactly as long as it is at the front of its line and the key is
 * free. Whoever is let in instead, or offered the key, withdraws it.
 */

import { checkFunction, detached, fullError, invalid, timedOut } from '../errors.js';
import { Gate, lockNames, tryLockNames } from '../mutex/gate.js';
import type { LockOptions, TryLockOptions } from '../mutex/mutex.js';
import { Permit } from '../semaphore/permit.js';
import { runWith } from '../semaphore/semaphore.js';
import { claim, contestOf, giveUpOn, isOver, OwnSignal, tell } from '../wait/give-up.js';
import { readRequest, type Waiter, type WaitRequest } from '../wait/queue.js';
import { Keyed } from './keyed.js';

type Locking<Key> = Keyed<Key, SharedGate>;

/** The locks of several keys, held together: what {@link KeyedMutex.lockAll} grants. They go back together, once. */
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

/** A request for several keys: to each of their gates, it is the owner of a request there. */
class Several {
  readonly request: WaitRequest;
  readonly #count: number;
  readonly #offers = new Set<SharedGate>();
  #taken = false;

  constructor(request: WaitRequest, count: number) {
    this.request = request;
    this.#count = count;
  }

  /** Whether it takes the lock of this gate now. */
  offer(gate: SharedGate): boolean {
    if (this.#taken) return true;
    this.#offers.add(gate);
    if (this.#offers.size < this.#count) return false;
    // Who needed no place in the line, because of a higher priority, has not withdrawn the offer.
    for (const each of this.#offers) if (!each.available) this.#offers.delete(each);
    if (this.#offers.size < this.#count) return false;
    this.#taken = true;
    // To set the limit is to serve the line: the others come to this point again.
    for (const other of this.#offers) if (other !== gate) other.limit = 1;
    return true;
  }

  withdraw(gate: SharedGate): void {
    this.#offers.delete(gate);
  }
}

/** The gate of a key that may be wanted together with others. */
export class SharedGate extends Gate {
  #offered: Several | undefined;

  /** @internal */
  override _grant(waiter: Waiter): Permit | undefined {
    const several = waiter.owner instanceof Several ? waiter.owner : undefined;
    if (this.#offered !== several) this.#offered?.withdraw(this);
    this.#offered = several;
    if (!several) return super._grant(waiter);
    if (!several.offer(this)) return undefined;
    this.#offered = undefined;
    return super._grant(several.request);
  }
}

function readKeys<Key>(keys: Iterable<Key>): Set<Key> {
  if (typeof keys !== 'object' || keys?.[Symbol.iterator] === undefined) {
    throw invalid('keys', keys, 'an iterable of keys');
  }
  return new Set(keys);
}

/** All locks, if nobody holds or waits for any of these keys. Throws if one of them is refused. */
function take<Key>(
  keyed: Locking<Key>,
  keys: Set<Key>,
  request: WaitRequest,
): Locks<Key> | undefined {
  let idle = true;
  for (const key of keys) {
    const gate = keyed._find(key);
    gate?._refuse(request);
    if (gate?.idle === false) idle = false;
  }
  if (!idle) return undefined;
  const { owner } = request;
  const locks = new Map<Key, Permit>();
  for (const key of keys) {
    locks.set(key, keyed._request(key, (gate) => gate.tryAcquire({ owner } as object)) as Permit);
  }
  claim(request.signal);
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
    const { priority } = request;
    const { maxWaiting, label } = keyed._options;
    if (request.timeout === 0) throw timedOut(0, label);
    for (const key of keys) {
      const gate = keyed._find(key);
      if ((gate?.waiting ?? 0) < maxWaiting) continue;
      throw fullError(gate?._label ?? label, maxWaiting);
    }

    const several = new Several(request, keys.size);
    let taken = 0;
    let over = false;
    const signal = new OwnSignal({
      root: contestOf(request.signal)?.root,
      isLost: () => over || isOver(request.signal),
      decide() {
        if (++taken < keys.size) return undefined;
        stop();
        return contestOf(request.signal)?.decide(request.signal);
      },
    });
    const leave = (reason: unknown): void => {
      over = true;
      stop();
      tell(signal.set, reason);
      reject(reason);
    };
    const stop = giveUpOn(
      request,
      (reason) => {
        // Unless it was closed or cancelled before in this turn: then it is about to be told so.
        if (signal.set.size === keys.size) leave(reason);
      },
      (timeout) => timedOut(timeout, label),
    );
    const places = [...keys].map((key) =>
      keyed._request(key, (gate) => gate.acquire({ owner: several, priority, signal } as object)),
    );
    Promise.all(places).then(
      (permits) => {
        resolve(new Locks(new Map([...keys].map((key, n) => [key, permits[n] as Permit]))));
      },
      // A line that it left before its signal told it knows no reason.
      (reason) => leave(reason ?? request.signal?.reason),
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
