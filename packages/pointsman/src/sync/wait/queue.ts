/**
 * The FIFO wait queue that all primitives share. A waiter without options costs one promise, its resolve function and one
 * field in a list (`chunked-list.ts`).
 *
 * Invariants:
 * - A waiter is in the queue exactly while its promise is pending. Its timer and its abort listener are removed in the
 *   step that settles the promise.
 * - A grant to a request wins the contest of its signal (`give-up.ts`), whether it waited or not. A request whose signal
 *   is over is granted nothing.
 */

import { checkCount, invalid, timedOut } from '../errors.js';
import {
  checkOptions,
  checkSignal,
  checkTimeout,
  type WaitOptions,
  waitNames,
} from '../options.js';
import { ChunkedList, type Position } from './chunked-list.js';
import { giveUpOn, isOver, type Own, winContest } from './give-up.js';
import type { Ranked } from './heap.js';

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

const nameOnly: readonly string[] = ['name'];
const queueNames: readonly string[] = ['name', 'maxWaiting'];

/** Returns the prefix for error messages. */
function labelOf(name: unknown = ''): string {
  if (typeof name !== 'string') throw invalid('name', name, 'a string');
  return name && `${name}: `;
}

/** @internal Reads the options of a constructor whose queue has no bound. */
export function readLabel(options: NameOptions = {}, names = nameOnly): string {
  checkOptions(options, names);
  return labelOf(options.name);
}

/** @internal Reads the options of a constructor once. */
export function readQueueOptions(options: QueueOptions = {}) {
  checkOptions(options, queueNames);
  const { name = '', maxWaiting = Infinity } = options;
  const label = labelOf(name);
  checkCount('maxWaiting', maxWaiting, 0);
  return { name, maxWaiting, label };
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

/** A request with options, and its state while it waits. */
export interface WaitRequest extends WaitOptions, Position, Ranked {
  permits: number;
  owner: unknown;
  group: Group | undefined;
  /** Refers to the request until it is settled: the value of a sender, the waits of an iterator. */
  held?: Holder;
  resolve: Resolve | undefined;
  /** Stops watching the signal and the timeout. */
  stop: (() => void) | undefined;
}

/** A waiter without options is stored as its resolve function. The fields of a request are undefined on it. */
export type Waiter = WaitRequest | (Resolve & { readonly [Name in keyof WaitRequest]?: undefined });

/** Reads the options of a wait once. Throws if one is invalid, and the signal's reason if it has aborted. */
export function readWait(options: WaitOptions = {}, names = waitNames): WaitRequest {
  checkOptions(options, names);
  return createRequest(options);
}

/** @internal Reads `signal` and `timeout`, and creates the request. Its other options have their defaults. */
export function createRequest(options: WaitOptions): WaitRequest {
  const { timeout } = options;
  // Reading `signal` of what a `select` passes to its cases would create a platform signal.
  const signal = ((options as Partial<Own>)._own as AbortSignal | undefined) ?? options.signal;
  checkTimeout(timeout);
  checkSignal(signal);
  if (signal?.aborted) throw signal.reason;
  return {
    permits: 1,
    priority: 0,
    signal,
    timeout,
    owner: undefined,
    group: undefined,
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
  giveUp: (reason: unknown) => void,
  timeoutError: (timeout: number) => unknown,
): void {
  request.resolve = resolve;
  if (request.signal || request.timeout !== undefined) {
    request.stop = giveUpOn(request, giveUp, timeoutError);
  }
}

/** @internal Ends the wait of a waiter that was removed from its queue. */
export function settle(waiter: Waiter, grant: unknown): void {
  waiter.stop?.();
  (waiter.resolve ?? (waiter as Resolve))(grant);
}

/** @internal Whether the engine is JavaScriptCore, in which some hot paths are written differently than for V8. */
export const inJavaScriptCore = 'line' in new Error();

let resolver: Resolve;
const keepResolver = (resolve: Resolve): void => {
  resolver = resolve;
};

/** @internal */
export class WaitQueue<Grant> {
  readonly #label: string;
  /** @internal */
  readonly _list = new ChunkedList<Waiter>();
  /** The number of waiters in the list that are requests. */
  #requests = 0;

  constructor(label: string) {
    this.#label = label;
  }

  get length(): number {
    return this._list.length;
  }

  /** Whether no waiter has options: then all of them wait for the same, in order. */
  get plain(): boolean {
    return this.#requests === 0;
  }

  get front(): Waiter | undefined {
    return this._list.front;
  }

  /** Enqueues a waiter without options. */
  append(): Promise<Grant> {
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

  /** Enqueues a request. `left` is called after it has given up. */
  insert(
    request: WaitRequest,
    left?: () => void,
    timeoutError = (timeout: number): Error => timedOut(timeout, this.#label),
  ): Promise<Grant> {
    return new Promise((resolve) => {
      if (request.timeout === 0) throw timeoutError(0);
      const giveUp = (reason: unknown): void => {
        this.reject(reason, request);
        left?.();
      };
      begin(request, resolve, giveUp, timeoutError);
      this.put(request);
    });
  }

  /** Puts a request in its place. The caller has made its promise and begun its wait. */
  put(request: WaitRequest): void {
    this.#requests++;
    this._list.add(request);
  }

  /** Removes a waiter, whose promise stays pending. One without options is removed at the front only. */
  take(waiter: Waiter): void {
    if (typeof waiter === 'function') {
      this._list.shift();
    } else {
      this.#requests--;
      this._list.remove(waiter);
    }
  }

  /**
   * Removes a waiter and resolves its promise. A grant wins the contest of the waiter's signal: other cases of the
   * `select` leave their queues in this step, which may serve other requests. So all other state must be consistent
   * before.
   */
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
