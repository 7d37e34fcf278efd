/**
 * The queue of those who cannot be served at once: higher priorities first, equals in the order in
 * which they came.
 *
 * A circular list whose nodes are the waiters and whose sentinel is the queue itself. Invariant: a
 * waiter is linked for exactly as long as its promise is pending, and its timer and its listener
 * live no longer than that. Only a waiter with a request of its own can leave from the middle; the request
 * knows the waiter in front, so that leaving takes one step.
 *
 * A waiter without options costs what waiting costs at least, a promise and the function that resolves
 * it, and one node of three fields. The node is a literal because V8 learns of literals that live
 * long and then makes them in the old generation at once; of instances of a class it does not.
 */

import { checkInteger, invalid, timedOut } from './errors.js';
import { giveUpOn } from './give-up.js';
import { checkWaitOptions, type WaitOptions } from './options.js';

/** What a waiter wants and what it needs to leave early. */
export interface WaitRequest extends WaitOptions {
  readonly permits: number;
  readonly priority: number;
  readonly owner?: unknown;
  /** The waiter in front. */
  previous?: Waiter | undefined;
  /** Stops watching the signal and the time. */
  end?: (() => void) | undefined;
}

/** A place in the queue. Without a request: one permit, priority 0, as long as it takes. */
export interface Waiter {
  // biome-ignore lint/suspicious/noExplicitAny: one queue class serves all kinds of grants
  readonly resolve: (grant: any) => void;
  next: Waiter;
  readonly request: WaitRequest | undefined;
}

const names: ReadonlySet<string> = new Set(['permits', 'priority', 'signal', 'timeout', 'owner']);

/** Reads options once and refuses those that cannot be used. */
export function readRequest(
  options: { readonly [Name in keyof WaitRequest]?: WaitRequest[Name] | undefined } = {},
  limit: number,
): WaitRequest {
  checkWaitOptions(options, names);
  const { permits = 1, priority = 0, signal, timeout, owner } = options;
  checkInteger('permits', permits, 1, limit);
  if (!Number.isFinite(priority)) throw invalid('priority', priority, 'a finite number', 'number');
  if (signal?.aborted) throw signal.reason;
  return { permits, priority, signal, timeout, owner, previous: undefined, end: undefined };
}

/** @internal */
export const priorityOf = ({ request }: Waiter): number =>
  request === undefined ? 0 : request.priority;

/**
 * @internal What a waiter's promise is resolved with so that it rejects. A rejected promise would do as
 * well, but nobody would have handled it yet, and some runtimes report that at once.
 */
export const rejection = (reason: unknown): PromiseLike<never> => ({
  // biome-ignore lint/suspicious/noThenProperty: it is a thenable on purpose
  then: (_: unknown, reject?: ((reason: unknown) => unknown) | null) => reject?.(reason) as never,
});

function setPrevious({ request }: Waiter, previous: Waiter): void {
  if (request !== undefined) request.previous = previous;
}

/** @internal */
export class WaitQueue<Grant> implements Waiter {
  declare readonly resolve: never;
  next: Waiter = this;
  // NaN compares false with every priority, so that every search for a place ends here.
  readonly request: WaitRequest = { permits: 0, priority: Number.NaN, previous: this };
  length = 0;

  /** A promise of a turn for somebody without options. */
  append(): Promise<Grant> {
    return new Promise((resolve) => {
      const last = this.request.previous as Waiter;
      const waiter: Waiter = { resolve, next: this, request: undefined };
      if (last.request !== undefined && last.request.priority < 0) {
        this.#link(waiter, this.#placeFor(0));
      } else {
        // What #link does at the end of the queue, spelled out for the most frequent case.
        last.next = waiter;
        this.request.previous = waiter;
        this.length++;
      }
    });
  }

  /** A promise of a turn. `left` is called after this waiter has given up. */
  insert(request: WaitRequest, left?: () => void): Promise<Grant> {
    return new Promise((resolve) => {
      if (request.timeout === 0) throw timedOut(0);
      const waiter: Waiter = { resolve, next: this, request };
      if (request.signal !== undefined || request.timeout !== undefined) {
        request.end = giveUpOn(
          request,
          (reason) => {
            this.settle(rejection(reason), waiter, request.previous);
            left?.();
          },
          timedOut,
        );
      }
      this.#link(waiter, this.#placeFor(request.priority));
    });
  }

  /** Takes the waiter behind `previous` out of the queue and settles its promise. */
  settle(grant: Grant | PromiseLike<never>, waiter = this.next, previous: Waiter = this): void {
    previous.next = waiter.next;
    setPrevious(waiter.next, previous);
    this.length--;
    waiter.request?.end?.();
    waiter.resolve(grant);
  }

  /** Settles all promises, the first first. */
  settleAll(grant: Grant | PromiseLike<never>): void {
    while (this.length > 0) this.settle(grant);
  }

  #link(waiter: Waiter, previous: Waiter): void {
    const { next } = previous;
    waiter.next = next;
    previous.next = waiter;
    setPrevious(next, waiter);
    setPrevious(waiter, previous);
    this.length++;
  }

  /**
   * The last of those who go before a newcomer of this priority. Searched from the front for a high
   * priority and from the back for a low one: either way past waiters that somebody gave a priority.
   */
  #placeFor(priority: number): Waiter {
    let place = this.request.previous as Waiter;
    if (priority > 0 && priorityOf(place) < priority) {
      place = this;
      while (priorityOf(place.next) >= priority) place = place.next;
    } else {
      while (priorityOf(place) < priority) place = place.request?.previous as Waiter;
    }
    return place;
  }
}
