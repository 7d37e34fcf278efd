/**
 * The wait queue that all primitives share: highest priority first, FIFO within a priority.
 *
 * Waiters with priority 0 are in a list (`chunked-list.ts`), all others in a binary heap (`heap.ts`). A waiter without
 * options costs one promise, its resolve function and one field in the list.
 *
 * Invariants:
 * - A waiter is in the queue exactly while its promise is pending. Its timer and its abort listener are removed in the
 *   step that settles the promise.
 * - A grant to a request wins the contest of its signal (`give-up.ts`), whether it waited or not. A request whose signal
 *   is over is granted nothing.
 */

import {
  checkCount,
  checkInteger,
  fullError,
  invalid,
  notIdle,
  TimeoutError,
  timedOut,
} from '../errors.js';
import {
  checkOptions,
  checkSignal,
  checkTimeout,
  type WaitOptions,
  waitNames,
} from '../options.js';
import { ChunkedList, type Position } from './chunked-list.js';
import { giveUpOn, isOver, type Own, winContest } from './give-up.js';
import { insert, type Ranked, remove } from './heap.js';

/** Constructor options of the primitives that grant permits. */
export interface QueueOptions {
  /** A prefix for error messages. */
  readonly name?: string | undefined;
  /**
   * The maximum number of waiting requests: an integer >= 0, or `Infinity`, the default. Further requests reject with a
   * {@link QueueFullError}.
   */
  readonly maxWaiting?: number | undefined;
}

/** Constructor options of the primitives whose queues have no bound. */
export type NameOptions = Pick<QueueOptions, 'name'>;

const queueNames: ReadonlySet<string> = new Set(['name', 'maxWaiting']);

/** @internal Reads the options of a constructor once. The label is the prefix for error messages. */
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

/** A request for several primitives, all or none. */
interface Group {
  /** Called when the primitive is free and it is the request's turn. Returns whether the request takes it now. */
  offer(primitive: unknown): boolean;
}

const nameOnly: ReadonlySet<string> = new Set(['name']);

/** @internal Returns the label, for a constructor whose only option is the name. */
export const readLabel = (options?: NameOptions): string =>
  readQueueOptions(options, nameOnly).label;

/** A request with options, and its state while it waits. */
export interface WaitRequest extends WaitOptions, Position, Ranked {
  readonly permits: number;
  readonly owner: unknown;
  readonly group?: Group | undefined;
  /** Refers to the request until it is settled: the value of a sender, the waits of an iterator. */
  held?: Holder;
  resolve: Resolve | undefined;
  /** Stops watching the signal and the timeout. */
  stop: (() => void) | undefined;
}

/** A waiter without options is stored as its resolve function. The fields of a request are undefined on it. */
export type Waiter = WaitRequest | (Resolve & { readonly [Name in keyof WaitRequest]?: undefined });

/** Reads options once. Throws if one is invalid, and the signal's reason if it has aborted. */
export function readRequest(
  options: { readonly [Name in keyof WaitRequest]?: WaitRequest[Name] | undefined } = {},
  names = waitNames,
  maxPermits = 1,
): WaitRequest {
  checkOptions(options, names);
  const { permits = 1, priority = 0, timeout, owner, group } = options;
  // Reading `signal` of what a `select` passes to its cases would create a platform signal.
  const signal = ((options as Partial<Own>)._own as AbortSignal | undefined) ?? options.signal;
  checkTimeout(timeout);
  checkSignal(signal);
  checkInteger('permits', permits, 1, maxPermits);
  if (!Number.isFinite(priority)) throw invalid('priority', priority, 'a finite number', 'number');
  if (signal?.aborted) throw signal.reason;
  return {
    permits,
    priority,
    signal,
    timeout,
    owner,
    group,
    resolve: undefined,
    stop: undefined,
    chunk: undefined,
    index: 0,
    order: 0,
  };
}

/**
 * @internal A waiter's promise rejects when it is resolved with this. A rejected promise would have no handler yet, which
 * some runtimes report.
 */
export const rejection = (reason: unknown) => ({
  // biome-ignore lint/suspicious/noThenProperty: it is a thenable on purpose
  then: (_: unknown, reject: (reason: unknown) => void) => reject(reason),
});

/** @internal Starts the wait of a request: watches its signal and its timeout. */
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

/** @internal Ends the wait of a waiter that was removed from its queue. */
export function settle(waiter: Waiter, grant: unknown): void {
  waiter.stop?.();
  (waiter.resolve ?? (waiter as Resolve))(grant);
}

/** @internal Whether the engine is JavaScriptCore, in which some hot paths are written differently than for V8. */
export const inJavaScriptCore = 'line' in new Error();

/** @internal In place of a grant: the request has to wait. */
export const mustWait = Symbol();

let resolver: Resolve;
const keepResolver = (resolve: Resolve): void => {
  resolver = resolve;
};

/** @internal */
export class WaitQueue<Grant> {
  readonly #label: string;
  readonly #max: number;
  /** @internal The waiters with priority 0. */
  readonly _list = new ChunkedList<Waiter>();
  readonly #heap: WaitRequest[] = [];
  #order = 0;
  /** The number of waiters that are requests. */
  #requests = 0;

  constructor(label: string, max = Infinity) {
    this.#label = label;
    this.#max = max;
  }

  get length(): number {
    return this._list.length + this.#heap.length;
  }

  /** Whether no waiter has options: then all of them wait for the same, in order. */
  get plain(): boolean {
    return this.#requests === 0;
  }

  get front(): Waiter | undefined {
    const first = this.#heap[0];
    return first && (first.priority > 0 || this._list.length === 0) ? first : this._list.front;
  }

  /** The priority that a new request must exceed to go before all waiters. */
  get priority(): number {
    const { front } = this;
    return front ? (front.priority ?? 0) : -Infinity;
  }

  /**
   * Returns the grant of a request, or enqueues it and returns a promise. `left` is called after it has given up.
   *
   * A grant wins the contest of the request's signal: other cases of the `select` leave their queues in this step, which
   * may serve other requests. So all other state must be consistent before.
   */
  enter(
    request: WaitRequest | undefined,
    grant: Grant | typeof mustWait,
    left?: () => void,
  ): Grant | Promise<Grant> {
    if (grant === mustWait) return request ? this.insert(request, left) : this.append();
    winContest(request?.signal);
    return grant;
  }

  /** Enqueues a waiter without options. */
  append(): Promise<Grant> {
    if (this.length >= this.#max) return Promise.reject(fullError(this.#label, this.#max));
    if (inJavaScriptCore) {
      // Reusing one function is cheaper here; V8 is faster with a new one for each promise.
      const promise = new Promise<Grant>(keepResolver);
      this._list.push(resolver);
      return promise;
    }
    return new Promise((resolve) => {
      this._list.push(resolve);
    });
  }

  insert(request: WaitRequest, left?: () => void): Promise<Grant> {
    return new Promise((resolve) => {
      if (request.timeout === 0) throw timedOut(0, this.#label);
      if (this.length >= this.#max) throw fullError(this.#label, this.#max);
      begin(request, resolve, this.#label, (reason) => {
        this.reject(reason, request);
        left?.();
      });
      this.put(request);
    });
  }

  /** Puts a request in its place. The caller has made its promise and begun its wait. */
  put(request: WaitRequest): void {
    this.#requests++;
    if (request.priority === 0) {
      this._list.add(request);
    } else {
      request.order = this.#order++;
      insert(this.#heap, request);
    }
  }

  /** Removes a waiter, whose promise stays pending. One without options is removed at the front only. */
  take(waiter: Waiter): void {
    if (typeof waiter === 'function') {
      this._list.shift();
    } else {
      this.#requests--;
      if (waiter.priority === 0) this._list.remove(waiter);
      else remove(this.#heap, waiter);
    }
  }

  /** Removes a waiter and resolves its promise. All other state must be consistent before, as in {@link enter}. */
  grant(grant: Grant, waiter = this.front as Waiter): void {
    if (typeof waiter === 'function') {
      this._list.shift();
      waiter(grant);
    } else {
      this.take(waiter);
      settle(waiter, grant);
      winContest(waiter.signal);
    }
  }

  reject(reason: unknown, waiter = this.front as Waiter): void {
    this.take(waiter);
    settle(waiter, rejection(reason));
  }

  rejectAll(reason: unknown): void {
    while (this.length > 0) this.reject(reason);
  }

  /**
   * The front, after rejecting the requests before it whose signals are over: their own listeners may run later than the
   * one that is granting. Read this anew for each waiter.
   */
  get next(): Waiter | undefined {
    for (;;) {
      const { front } = this;
      if (!isOver(front?.signal)) return front;
      this.reject(front?.signal?.reason, front);
    }
  }

  resolveAll(grant: Grant): void {
    for (let { next } = this; next; next = this.next) this.grant(grant, next);
  }
}

/**
 * @internal Waits in the queue of `drain` callers. A timeout rejects with an error that counts what is active and waiting
 * at that moment.
 */
export async function waitUntilIdle(
  drains: WaitQueue<void>,
  request: WaitRequest,
  owner: { readonly _label: string; readonly _active: number; readonly waiting: number },
): Promise<void> {
  try {
    await drains.insert(request);
  } catch (error) {
    if (!(error instanceof TimeoutError) || error === request.signal?.reason) throw error;
    throw notIdle(request.timeout as number, owner._label, owner._active, owner.waiting);
  }
}
