/**
 * The queue of those who cannot be served at once: higher priorities first, equals in the order in
 * which they came.
 *
 * Who has priority 0 stands in a line, everybody else in a heap that is empty as long as nobody gives a priority.
 * Invariant: a waiter is in one of them for exactly as long as its promise is pending, and its timer and its
 * listener live no longer than that.
 *
 * A waiter without options costs what waiting costs at least, a promise and the function that resolves
 * it, and one place in the line.
 */

import { checkCount, checkInteger, fullError, invalid, timedOut } from '../errors.js';
import {
  checkOptions,
  checkSignal,
  checkTimeout,
  type Own,
  type WaitOptions,
  waitNames,
} from '../options.js';
import { claim, giveUpOn, isOver } from './give-up.js';
import { insert, type Ranked, remove } from './heap.js';
import { Line, type Place } from './line.js';

/** What every primitive may be told when it is made. */
export interface QueueOptions {
  /** What it is called: the messages of its errors begin with it. */
  readonly name?: string | undefined;
  /**
   * How many may wait at once: an integer from 0 on, or `Infinity`, the default. A request that would have to wait
   * beyond that is refused at once with a {@link QueueFullError}.
   */
  readonly maxWaiting?: number | undefined;
}

/** What a primitive may be told when it is made where everybody who comes may wait. */
export type NameOptions = Pick<QueueOptions, 'name'>;

const queueNames: ReadonlySet<string> = new Set(['name', 'maxWaiting']);

/** @internal Reads the options of a constructor once; the label is what the messages of errors begin with. */
export function readQueueOptions(options: QueueOptions = {}, names = queueNames) {
  checkOptions(options, names);
  const { name = '', maxWaiting = Infinity } = options;
  if (typeof name !== 'string') throw invalid('name', name, 'a string');
  checkCount('maxWaiting', maxWaiting, 0);
  return { name, maxWaiting, label: name && `${name}: ` };
}

// biome-ignore lint/suspicious/noExplicitAny: one queue class serves all kinds of grants
type Resolve = (grant: any) => void;

interface Holder {
  delete(request: unknown): unknown;
}

const nameOnly: ReadonlySet<string> = new Set(['name']);

/** @internal The label, for a constructor that takes no other option than the name. */
export const readLabel = (options?: NameOptions): string =>
  readQueueOptions(options, nameOnly).label;

/** What somebody wants who gave options, and what it needs to wait and to leave early. */
export interface WaitRequest extends WaitOptions, Place, Ranked {
  readonly permits: number;
  readonly owner: unknown;
  /** What knows of this request and forgets it when it is over: the value of a sender, the waits of an iterator. */
  held?: Holder;
  resolve: Resolve | undefined;
  /** Stops watching the signal and the time. */
  stop: (() => void) | undefined;
  index: number;
}

/** Somebody without options is only the function that resolves its promise: all that it did not ask for is undefined. */
export type Waiter = WaitRequest | (Resolve & { readonly [Name in keyof WaitRequest]?: undefined });

/** Reads options once and refuses those that cannot be used. */
export function readRequest(
  options: { readonly [Name in keyof WaitRequest]?: WaitRequest[Name] | undefined } = {},
  names = waitNames,
  limit = 1,
): WaitRequest {
  checkOptions(options, names);
  const { permits = 1, priority = 0, timeout, owner } = options;
  // To read the signal of a case of `select` would make one of the platform's.
  const signal = ((options as Partial<Own>)._own as AbortSignal | undefined) ?? options.signal;
  checkTimeout(timeout);
  checkSignal(signal);
  checkInteger('permits', permits, 1, limit);
  if (!Number.isFinite(priority)) throw invalid('priority', priority, 'a finite number', 'number');
  if (signal?.aborted) throw signal.reason;
  return {
    permits,
    priority,
    signal,
    timeout,
    owner,
    resolve: undefined,
    stop: undefined,
    chunk: undefined,
    index: 0,
    order: 0,
  };
}

/**
 * @internal What a waiter's promise is resolved with so that it rejects. A rejected promise would do as well, but nobody
 * would have handled it yet, and some runtimes report that at once.
 */
export const rejection = (reason: unknown) => ({
  // biome-ignore lint/suspicious/noThenProperty: it is a thenable on purpose
  then: (_: unknown, reject: (reason: unknown) => void) => reject(reason),
});

/** @internal Begins the wait of somebody: from now on it may give up. */
export function begin(
  request: WaitRequest,
  resolve: Resolve,
  label: string,
  giveUp: (reason: unknown) => void,
): void {
  request.resolve = resolve;
  if (request.signal || request.timeout !== undefined) {
    request.stop = giveUpOn(request, giveUp, (timeout) => timedOut(timeout, label));
  }
}

/** @internal Ends the wait of somebody who has been taken out of its queue. */
export function settle(waiter: Waiter, grant: unknown): void {
  if (typeof waiter === 'function') {
    waiter(grant);
  } else {
    waiter.stop?.();
    waiter.resolve?.(grant);
  }
}

/** @internal Whether this is JavaScriptCore, which prefers other forms of the same than V8. */
export const inJavaScriptCore = 'line' in new Error();

let resolver: Resolve;
const keepResolver = (resolve: Resolve): void => {
  resolver = resolve;
};

/** @internal */
export class WaitQueue<Grant> {
  readonly #label: string;
  readonly #most: number;
  /** @internal Who waits with priority 0, for those who have to look behind the front. */
  readonly _line = new Line<Waiter>();
  readonly #heap: WaitRequest[] = [];
  #order = 0;
  /** How many of those who wait have a request. */
  #requests = 0;

  /** The label is what the messages of errors begin with. */
  constructor(label: string, most = Infinity) {
    this.#label = label;
    this.#most = most;
  }

  get length(): number {
    return this._line.length + this.#heap.length;
  }

  /** Whether nobody who waits has a request: then all are served alike. */
  get plain(): boolean {
    return this.#requests === 0;
  }

  /** Who is served next. Without a request: one permit, priority 0, as long as it takes. */
  get front(): Waiter | undefined {
    const first = this.#heap[0];
    return first && (first.priority > 0 || this._line.length === 0) ? first : this._line.front;
  }

  /** The priority that a newcomer must exceed so that it goes before all others. */
  get priority(): number {
    const { front } = this;
    return front ? (front.priority ?? 0) : -Infinity;
  }

  /** A promise of a turn for somebody without options. */
  append(): Promise<Grant> {
    if (this.length >= this.#most) return Promise.reject(fullError(this.#label, this.#most));
    if (inJavaScriptCore) {
      // One function for all is cheaper than a new one each time. For V8 it is the other way round.
      const promise = new Promise<Grant>(keepResolver);
      this._line.push(resolver);
      return promise;
    }
    return new Promise((resolve) => {
      this._line.push(resolve);
    });
  }

  /** A promise of a turn. `left` is called after this waiter has given up. */
  insert(request: WaitRequest, left?: () => void): Promise<Grant> {
    return new Promise((resolve) => {
      if (request.timeout === 0) throw timedOut(0, this.#label);
      if (this.length >= this.#most) throw fullError(this.#label, this.#most);
      begin(request, resolve, this.#label, (reason) => {
        this.reject(reason, request);
        left?.();
      });
      this.put(request);
    });
  }

  /** Gives a waiter its place. Whoever puts it in itself has made its promise, and watches its signal and its time. */
  put(request: WaitRequest): void {
    this.#requests++;
    if (request.priority === 0) {
      this._line.add(request);
    } else {
      request.order = this.#order++;
      insert(this.#heap, request);
    }
  }

  /** Takes a waiter out, and leaves its promise pending: until it is settled, or put in elsewhere. */
  take(waiter: Waiter): void {
    if (typeof waiter === 'function') {
      this._line.shift();
    } else {
      this.#requests--;
      if (waiter.priority === 0) this._line.remove(waiter);
      else remove(this.#heap, waiter);
    }
  }

  /**
   * Takes a waiter out of the queue and grants what it waits for. Whoever grants has its own state in order before: a
   * waiter of a `select` leaves its other queues in here, which may let others in.
   */
  grant(grant: Grant, waiter = this.front as Waiter): void {
    this.take(waiter);
    settle(waiter, grant);
    claim(waiter.signal);
  }

  /** Takes a waiter out of the queue and sends it away. */
  reject(reason: unknown, waiter = this.front as Waiter): void {
    this.take(waiter);
    settle(waiter, rejection(reason));
  }

  /** Sends all away, the first first. */
  rejectAll(reason: unknown): void {
    while (this.length > 0) this.reject(reason);
  }

  /**
   * The front, after those before it are sent away whose signal has aborted and is about to tell them: they must not
   * be let in by a listener that was told before. To serve a queue, read this anew for each.
   */
  get next(): Waiter | undefined {
    for (;;) {
      const { front } = this;
      if (!isOver(front?.signal)) return front;
      this.reject(front?.signal?.reason, front);
    }
  }

  /** Grants all that they waited for. */
  resolveAll(grant: Grant): void {
    for (let { next } = this; next; next = this.next) this.grant(grant, next);
  }
}
