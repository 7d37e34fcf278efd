/**
 * Giving up a wait: when a signal aborts or a time is over, whichever comes first, and at most once.
 *
 * Invariant: a signal has one listener while anybody waits on it, and none otherwise. The platform
 * searches all listeners of a signal to add or remove one, so that a listener for each waiter would
 * make a crowd on one signal cost the square of its size.
 */

import type { Own, WaitOptions } from '../options.js';

/** @internal As many milliseconds as a timer can take: 24.8 days. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** Its `then` calls back in the next microtask. Fake timers may replace `queueMicrotask`, which then waits for them. */
export const nextMicrotask = Promise.resolve();

type GiveUp = (reason: unknown) => void;

/** Waits of which only one may be granted anything: the cases of one `select`, each with a signal of its own. */
export interface Contest {
  /** The same for a contest and for those within one of its cases: of all these, too, only one may be granted anything. */
  readonly root: unknown;
  /** Whether somebody else has won. */
  isLost(signal: AbortSignal): boolean | undefined;
  /** This one has won, if nobody has before. Nobody is told yet: the answer is what makes the others leave. */
  decide(signal: AbortSignal | undefined): (() => void) | undefined;
}

/** Those who wait on a signal, in the order in which they came. */
interface Waiters {
  readonly set: Set<GiveUp>;
  readonly contest?: Contest;
  unlisten(): void;
}

const waitersOf = new WeakMap<AbortSignal, Waiters>();

/** @internal Who waits on it, which is one and the same for a signal of our own and for the platform's made of it. */
export const waitersOn = (signal: AbortSignal | undefined): Waiters | undefined =>
  (signal as Partial<Own> | undefined)?._own ?? waitersOf.get(signal as AbortSignal);

/**
 * @internal A signal that takes part in a contest. The platform's take microseconds to make and to abort: there is one
 * only for those who ask for it. Nobody listens to this one: whoever aborts it tells those who wait.
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

  /** The same for those outside of this package. */
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

  // So that it is taken for a signal by the operations of this package, which do not call these.
  addEventListener(): void {}
  removeEventListener(): void {}
}

/** @internal The contest that a signal takes part in. */
export const contestOf = (signal: AbortSignal | undefined): Contest | undefined =>
  waitersOn(signal)?.contest;

/** @internal Whether nothing may be granted under this signal any more, also before its listeners have been told. */
export const isOver = (signal: AbortSignal | undefined): boolean | undefined =>
  signal && (signal.aborted || contestOf(signal)?.isLost(signal));

/**
 * @internal Called in the very step in which something is granted under this signal, when all is consistent again:
 * what competes with it leaves, which may let others in anywhere.
 */
export function claim(signal: AbortSignal | undefined): void {
  // Nearly always there is none.
  if (signal) contestOf(signal)?.decide(signal)?.();
}

/** @internal Tells all. */
export function tell<News>(listeners: Set<(news: News) => void>, news: News): void {
  // A copy, because whoever is told may leave, and make others leave or come.
  for (const listener of [...listeners]) {
    try {
      listener(news);
    } catch (error) {
      // Reported as the platform reports what a listener throws; the others are told all the same.
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}

function listen(signal: AbortSignal): Waiters {
  const set = new Set<GiveUp>();
  const abort = (): void => tell(set, signal.reason);
  const unlisten = (): void => {
    try {
      signal.removeEventListener('abort', abort);
      waitersOf.delete(signal);
    } catch {
      // It goes on listening, for whoever waits on this signal next.
    }
  };
  signal.addEventListener('abort', abort);
  const waiters = { set, unlisten };
  waitersOf.set(signal, waiters);
  return waiters;
}

/**
 * Calls `giveUp` once, with the signal's reason when it aborts or with `timeoutError(timeout)` after
 * `timeout` milliseconds, however many, unless the function that is returned has been called before. That one stops
 * watching, in one step; it never throws, and calling it again does nothing.
 *
 * A signal that has aborted before is told of in a microtask: who looks at it first refuses at once. Waiters
 * on one signal are told in the order in which they came.
 * Throws what `addEventListener` throws, and then watches nothing.
 */
export function giveUpOn(
  options: WaitOptions,
  giveUp: (reason: unknown) => void,
  timeoutError: (timeout: number) => unknown,
): () => void {
  const { signal, timeout } = options;
  const waiters = signal && (waitersOn(signal) ?? listen(signal));
  let timer: ReturnType<typeof setTimeout> | undefined;
  let watching = true;
  const stop = (): boolean => {
    const watched = watching;
    watching = false;
    clearTimeout(timer);
    if (waiters?.set.delete(end) && waiters.set.size === 0) waiters.unlisten();
    return watched;
  };
  // Asks first: a timer that was stopped may fire all the same, and a copy of waiters may be old.
  const end = (reason: unknown): void => {
    if (stop()) giveUp(reason);
  };
  waiters?.set.add(end);
  if (signal?.aborted) nextMicrotask.then(() => end(signal.reason));
  const wait = (left: number): void => {
    const next = () =>
      left > LONGEST_TIMER ? wait(left - LONGEST_TIMER) : end(timeoutError(timeout as number));
    timer = setTimeout(next, Math.min(left, LONGEST_TIMER));
  };
  if (timeout !== undefined && timeout < Infinity) wait(timeout);
  return stop;
}
