/**
 * The receiving side of channels, broadcasts and watches: receiving the next value, waiting for it, and closing.
 *
 * Invariant: a receiver waits only while no value is available. So a new value is granted to the waiter in the same
 * step, and is never in flight to a waiter that may still be cancelled.
 */

import { Closable } from '../closable.js';
import { dispose } from '../dispose.js';
import type { WaitOptions } from '../options.js';
import { filter } from '../wait/chunked-list.js';
import { contestOf, isOver, winContest } from '../wait/give-up.js';
import { readWait, settle, type Waiter, WaitQueue, type WaitRequest } from '../wait/queue.js';

/** @internal Returns the first waiter that may be granted by a caller with this signal. */
// biome-ignore lint/suspicious/noExplicitAny: any kind of grant
export const firstOf = (queue: WaitQueue<any>, signal?: AbortSignal): Waiter | undefined =>
  // Most waiters have no request. This is small enough to be inlined.
  queue.plain ? queue._list.front : firstFor(queue, signal);

/**
 * Two cases of one `select` never match each other. If another waiter is behind such cases, that waiter is next and the
 * caller's case wins, so its rivals leave; otherwise there is no match.
 */
// biome-ignore lint/suspicious/noExplicitAny: any kind of grant
function firstFor(queue: WaitQueue<any>, signal?: AbortSignal): Waiter | undefined {
  const root = contestOf(signal)?.root;
  const isRival = (waiter: Waiter) => root !== undefined && contestOf(waiter.signal)?.root === root;
  for (let { front } = queue; front !== undefined; front = queue.front) {
    if (isOver(front.signal)) {
      // The signal has aborted, but its listener has not run yet.
      front.held?.delete(front);
      queue.reject(front.signal?.reason, front);
    } else if (!isRival(front)) {
      return front;
    } else {
      const stays = (waiter: Waiter) => !isRival(waiter) && !isOver(waiter.signal);
      if (filter(queue._list, stays).length === 0) return undefined;
      winContest(signal);
    }
  }
  return undefined;
}

/**
 * @internal Grants a waiter and, in the same step, decides the contest of the caller with the signal `other`: a sender
 * and its receiver have both won before any other case leaves.
 */
export function grantWith<Grant>(
  queue: WaitQueue<Grant>,
  grant: Grant,
  waiter: Waiter,
  other?: AbortSignal,
): void {
  if (typeof waiter === 'function') {
    queue._list.shift();
    waiter(grant);
    winContest(other);
    return;
  }
  queue.take(waiter);
  settle(waiter, grant);
  const leave = contestOf(waiter.signal)?.decide(waiter.signal);
  winContest(other);
  leave?.();
}

const done = () => ({ value: undefined, done: true }) as const;

/** The base class of everything that values can be received from. */
export abstract class Receiver<T> extends Closable {
  /** @internal Waits for a value or, for iterators and `receiveMany`, for an iterator result. */
  // biome-ignore lint/suspicious/noExplicitAny: two kinds of grants
  readonly _receivers: WaitQueue<any>;

  /** @internal */
  constructor(label: string) {
    super(label);
    this._receivers = new WaitQueue(label);
  }

  /** @internal Whether a caller with this signal can receive a value now. */
  abstract _has(signal?: AbortSignal): boolean;

  /** @internal Removes and returns the next value, and decides the contest of this signal. */
  abstract _take(signal?: AbortSignal): T;

  /** @internal Called when the wait queue changes. */
  _waits(): void {}

  /** @internal */
  _receive(options: WaitOptions | undefined): Promise<T> {
    if (options === undefined) {
      if (this._has()) return Promise.resolve(this._take());
      this._refuse();
      const turn = this._receivers.append();
      this._waits();
      return turn;
    }
    const request = readWait(options);
    if (this._has(request.signal)) return Promise.resolve(this._take(request.signal));
    return this._wait(request);
  }

  /** Calls {@link close}, for `using`. */
  [dispose](): void {
    this.close();
  }

  /** @internal */
  _tryReceive(): { value: T } | undefined {
    if (this._has()) return { value: this._take() };
    this._refuse();
    return undefined;
  }

  /** @internal Waits for a value, or for an iterator result if `request.held` is set. */
  // biome-ignore lint/suspicious/noExplicitAny: two kinds of grants
  _wait(request: WaitRequest): Promise<any> {
    this._refuse();
    const turn = this._receivers.insert(request, () => this._waits());
    this._waits();
    return turn;
  }

  /** @internal Grants a value to a waiter. */
  _give(value: T, waiter: Waiter, signal?: AbortSignal): void {
    waiter.held?.delete(waiter);
    grantWith(this._receivers, waiter.held ? { value, done: false } : value, waiter, signal);
  }

  /** @internal */
  _dismiss(reason: unknown): void {
    const receivers = this._receivers;
    const failed = this._ending?.failed;
    for (let { front } = receivers; front; front = receivers.front) {
      front.held?.delete(front);
      if (front.held === undefined || failed) receivers.reject(reason, front);
      else receivers.grant(done(), front);
    }
  }

  /**
   * Iterates over the received values. Several iterators may run at once; each value goes to one of them. Leaving the
   * loop does not close the channel. `return()` also ends a pending `next()`, and loses no value.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<T, undefined> {
    return new ReceiverIterator(this);
  }
}

/** Not an async generator, which takes three more promises per value and cannot be ended while it waits. */
class ReceiverIterator<T> implements AsyncIterableIterator<T, undefined> {
  #receiver: Receiver<T> | undefined;
  readonly #waits = new Set<WaitRequest>();

  constructor(receiver: Receiver<T>) {
    this.#receiver = receiver;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    try {
      const receiver = this.#receiver;
      if (!receiver) return Promise.resolve(done());
      if (receiver._has()) return Promise.resolve({ value: receiver._take(), done: false });
      if (receiver._ending?.failed === false) return this.return();
      const request = readWait();
      request.held = this.#waits;
      const turn = receiver._wait(request);
      this.#waits.add(request);
      return turn;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  return(): Promise<IteratorResult<T, undefined>> {
    for (const wait of this.#waits) this.#receiver?._receivers.grant(done(), wait);
    this.#receiver?._waits();
    this.#receiver = undefined;
    return Promise.resolve(done());
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
