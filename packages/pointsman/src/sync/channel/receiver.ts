/**
 * What channels and the receivers of a broadcast or a watch have in common: taking the next value, waiting for it,
 * and ending.
 *
 * Invariant: who waits here waits because there is nothing to take. So a value goes to whoever waits in the very
 * step in which it comes, and it is never on its way to somebody who may still give up.
 *
 * Apart from the values that nobody has taken yet, all state of a wait is in the queue.
 */

import { Closable } from '../closable.js';
import { dispose } from '../dispose.js';
import type { WaitOptions } from '../options.js';
import { claim, contestOf, isOver } from '../wait/give-up.js';
import { readRequest, settle, type Waiter, WaitQueue, type WaitRequest } from '../wait/queue.js';

/** @internal The first in the queue who may still be granted something under this signal. */
// biome-ignore lint/suspicious/noExplicitAny: whatever they wait for
export const firstOf = (queue: WaitQueue<any>, signal?: AbortSignal): Waiter | undefined =>
  // Nearly always nobody has a request: then this is small enough to be inlined.
  queue.plain ? queue._line.front : firstFor(queue, signal);

/**
 * Two cases of one `select` must not meet: if somebody else waits behind them, they leave before they are asked;
 * otherwise nobody is there.
 */
// biome-ignore lint/suspicious/noExplicitAny: whatever they wait for
function firstFor(queue: WaitQueue<any>, signal?: AbortSignal): Waiter | undefined {
  const root = contestOf(signal)?.root;
  const isRival = (waiter: Waiter) => root !== undefined && contestOf(waiter.signal)?.root === root;
  for (let { front } = queue; front !== undefined; front = queue.front) {
    if (isOver(front.signal)) {
      // Its listener has not run yet; it must not be let in by one that has.
      front.held?.delete(front);
      queue.reject(front.signal?.reason, front);
    } else if (!isRival(front)) {
      return front;
    } else {
      let { first: chunk } = queue._line;
      const stays = (waiter: Waiter | undefined) =>
        waiter && !isRival(waiter) && !isOver(waiter.signal);
      while (chunk !== undefined && !chunk.places.some(stays)) chunk = chunk.next;
      if (chunk === undefined) return undefined;
      claim(signal);
    }
  }
  return undefined;
}

/**
 * @internal Grants what a waiter waits for together with somebody who asks under the other signal: a sender and its
 * receiver have both won before anybody leaves.
 */
export function grantWith<Grant>(
  queue: WaitQueue<Grant>,
  grant: Grant,
  waiter: Waiter,
  other?: AbortSignal,
): void {
  if (typeof waiter === 'function') {
    queue._line.shift();
    waiter(grant);
    claim(other);
    return;
  }
  queue.take(waiter);
  settle(waiter, grant);
  const leave = contestOf(waiter.signal)?.decide(waiter.signal);
  claim(other);
  leave?.();
}

const done = () => ({ value: undefined, done: true }) as const;

/** What values can be received from. */
export abstract class Receiver<T> extends Closable {
  /** @internal Those who wait, for a value or, if they iterate, for a result. */
  // biome-ignore lint/suspicious/noExplicitAny: as just said
  readonly _receivers: WaitQueue<any>;

  /** @internal */
  constructor(label: string) {
    super(label);
    this._receivers = new WaitQueue(label);
  }

  /** @internal Whether there is something to take for whoever asks under this signal. */
  abstract _has(signal?: AbortSignal): boolean;

  /** @internal Takes the next value, under this signal. */
  abstract _take(signal?: AbortSignal): T;

  /** @internal Somebody waits, or has left. */
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
    const request = readRequest(options);
    if (this._has(request.signal)) return Promise.resolve(this._take(request.signal));
    return this._wait(request);
  }

  /** Closes it: what `using` calls. */
  [dispose](): void {
    this.close();
  }

  /** @internal */
  _tryReceive(): { value: T } | undefined {
    if (this._has()) return { value: this._take() };
    this._refuse();
    return undefined;
  }

  /** @internal Waits for a value, or for a result if the request is held by those who want one. */
  // biome-ignore lint/suspicious/noExplicitAny: either
  _wait(request: WaitRequest): Promise<any> {
    this._refuse();
    const turn = this._receivers.insert(request, () => this._waits());
    this._waits();
    return turn;
  }

  /** @internal Gives a value to the one who waits. */
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
   * Receives one value after the other. Any number of iterators may run at once: each value goes to one of them. To
   * leave the loop closes nothing; `return()` also ends a `next()` that waits, which loses no value.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<T, undefined> {
    return new ReceiverIterator(this);
  }
}

/** By hand: an async generator takes three more promises for each value, and cannot be ended while it waits. */
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
      const request = readRequest();
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
