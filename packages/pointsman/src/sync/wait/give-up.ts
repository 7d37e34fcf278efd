/**
 * Ends a wait when its signal aborts or its timeout elapses, at most once; and the contests between the cases of a
 * `select`, of which at most one is granted.
 *
 * Invariant: a signal has one listener while there are waiters on it, otherwise none. The platform searches all
 * listeners to add or remove one, so a listener for each of n waiters would take O(n²) time.
 */

import type { WaitOptions } from '../options.js';

/** @internal The longest delay of a platform timer, in milliseconds: 24.8 days. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** Its `then` calls back in the next microtask, also where fake timers replace `queueMicrotask`. */
export const nextMicrotask = Promise.resolve();

type GiveUp = (reason: unknown) => void;

/** Waits of which at most one is granted: the cases of one `select`, each with its own signal. */
export interface Contest {
  /** Identifies the outermost contest, if contests are nested in cases of others: at most one wait of all wins. */
  readonly root: unknown;
  /** Whether another wait has won. */
  isLost(signal: AbortSignal): boolean | undefined;
  /** Lets this wait win if none has. Returns a function that makes the others leave. */
  decide(signal: AbortSignal | undefined): (() => void) | undefined;
}

/** The waiters on a signal, in the order of arrival. */
interface Waiters {
  readonly set: Set<GiveUp>;
  readonly contest?: Contest;
  unlisten(): void;
}

const waitersOf = new WeakMap<AbortSignal, Waiters>();

/** @internal Returns the waiters on a signal: the same for an {@link OwnSignal} and the platform signal made from it. */
export const waitersOn = (signal: AbortSignal | undefined): Waiters | undefined =>
  (signal as Partial<Own> | undefined)?._own ?? waitersOf.get(signal as AbortSignal);

/** @internal A signal of this package, or an object that passes one on. */
export interface Own {
  readonly _own: OwnSignal;
}

/**
 * @internal The signal of a wait in a contest. A platform signal takes microseconds to create and to abort: there is one
 * only if `signal` is read. This one has no listeners; the code that aborts it calls the waiters in `set`.
 */
export class OwnSignal implements Own {
  readonly set = new Set<GiveUp>();
  readonly contest: Contest;
  aborted = false;
  reason: unknown;
  #controller: AbortController | undefined;

  constructor(contest: Contest) {
    this.contest = contest;
  }

  get _own(): this {
    return this;
  }

  /** The platform signal that follows this one. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      waitersOf.set(this.#controller.signal, this);
      if (this.aborted) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.#controller?.abort(reason);
  }

  unlisten(): void {}

  // `isSignal` looks for these. The operations of this package do not call them.
  addEventListener(): void {}
  removeEventListener(): void {}
}

/** @internal Returns the contest that a signal takes part in. */
export const contestOf = (signal: AbortSignal | undefined): Contest | undefined =>
  waitersOn(signal)?.contest;

/** @internal Whether the signal has aborted or its contest is lost, also if its waiters have not been called yet. */
export const isOver = (signal: AbortSignal | undefined): boolean | undefined =>
  signal && (signal.aborted || contestOf(signal)?.isLost(signal));

/**
 * @internal Wins the contest of the signal, if there is one. Called in the step of a grant, when all other state is
 * consistent: the other waits leave their queues, which may serve other requests.
 */
export function winContest(signal: AbortSignal | undefined): void {
  if (signal) contestOf(signal)?.decide(signal)?.();
}

/** @internal Calls all listeners. An error that one throws is reported as unhandled; the others are called. */
export function callAll<News>(listeners: Set<(news: News) => void>, news: News): void {
  // A copy: a listener may remove and add listeners.
  for (const listener of [...listeners]) {
    try {
      listener(news);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}

function listen(signal: AbortSignal): Waiters {
  const set = new Set<GiveUp>();
  const abort = (): void => callAll(set, signal.reason);
  const unlisten = (): void => {
    try {
      signal.removeEventListener('abort', abort);
      waitersOf.delete(signal);
    } catch {
      // The listener stays, and serves the next waiters on this signal.
    }
  };
  signal.addEventListener('abort', abort);
  const waiters = { set, unlisten };
  waitersOf.set(signal, waiters);
  return waiters;
}

/**
 * Calls `giveUp` once: with the signal's reason when it aborts, or with `timeoutError(timeout)` after `timeout`
 * milliseconds. Waiters on one signal are called in the order of arrival. If it has aborted already, `giveUp` is called
 * in a microtask; callers that must reject at once check before.
 *
 * The returned function stops watching; it never throws, and a second call does nothing. Throws what `addEventListener`
 * throws, and then watches nothing.
 */
export function giveUpOn(
  options: WaitOptions,
  giveUp: (reason: unknown) => void,
  timeoutError: (timeout: number) => unknown,
): () => void {
  const { signal, timeout = Infinity } = options;
  const waiters = signal && (waitersOn(signal) ?? listen(signal));
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isWatching = true;
  const stop = (): void => {
    isWatching = false;
    clearTimeout(timer);
    if (waiters?.set.delete(end) && waiters.set.size === 0) waiters.unlisten();
  };
  const end = (reason: unknown): void => {
    // A timer may fire after it was cleared, and `callAll` may call a waiter that was removed.
    if (!isWatching) return;
    stop();
    giveUp(reason);
  };
  waiters?.set.add(end);
  if (signal?.aborted) nextMicrotask.then(() => end(signal.reason));
  const wait = (left: number): void => {
    const next = () =>
      left > LONGEST_TIMER ? wait(left - LONGEST_TIMER) : end(timeoutError(timeout));
    timer = setTimeout(next, Math.min(left, LONGEST_TIMER));
  };
  if (timeout < Infinity) wait(timeout);
  return stop;
}
