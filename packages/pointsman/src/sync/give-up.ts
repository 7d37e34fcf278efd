/**
 * Giving up a wait: when a signal aborts or a time is over, whichever comes first, and at most once.
 *
 * Invariant: a signal has one listener while anybody waits on it, and none otherwise. The platform
 * searches all listeners of a signal to add or remove one, so that a listener for each waiter would
 * make a crowd on one signal cost the square of its size.
 */

import type { WaitOptions } from './options.js';

/** As many milliseconds as a timer can take: 24.8 days. */
const LONGEST_TIMER = 2 ** 31 - 1;

type GiveUp = (reason: unknown) => void;

/** Those who wait on a signal, in the order in which they came. */
interface Waiters {
  readonly set: Set<GiveUp>;
  unlisten(): void;
  /**
   * Of a signal of which only one of several may be granted anything, as those of the cases of a `select`: asked with
   * `true`, it ends the contest if nobody has won before; the answer is whether this signal has lost, which it may
   * have before it aborts.
   */
  contest?(claims: true | undefined): boolean | undefined;
  readonly arena?: unknown;
}

const waitersOf = new WeakMap<AbortSignal, Waiters>();

/**
 * @internal Whether nothing may be granted under this signal any more, also before its listeners have been told. With
 * `claims` it is granted something now, unless it is over.
 */
export const isOver = (signal: AbortSignal | undefined, claims?: true): boolean | undefined =>
  signal !== undefined && (signal.aborted || waitersOf.get(signal)?.contest?.(claims));

let leaving: (() => void)[] | undefined;

/** @internal Makes those leave who have lost: now, or when all have won who win in the same step. */
export const leave = (run: () => void): unknown =>
  leaving === undefined ? run() : leaving.push(run);

/**
 * @internal Called in the very step in which something is granted under this signal, when all is consistent again:
 * what competes with it leaves, which may let others in anywhere. Where one grant is good for two, a sender and its
 * receiver, both win before anybody leaves: otherwise who leaves for the one might make the other lose.
 */
export function claim(signal: AbortSignal | undefined, other?: AbortSignal): void {
  if (signal === undefined || other === undefined) {
    isOver(signal ?? other, true);
    return;
  }
  const all: (() => void)[] = [];
  leaving = all;
  isOver(signal, true);
  isOver(other, true);
  leaving = undefined;
  for (const run of all) run();
}

/** @internal What the signal competes in, if it does. Of two in the same, only one is granted anything. */
export const arenaOf = (signal: AbortSignal | undefined): unknown =>
  waitersOf.get(signal as AbortSignal)?.arena;

/**
 * @internal Lets a new signal compete, and returns those who wait on it. There is no listener: whoever aborts the
 * signal tells them.
 */
export function compete(
  signal: AbortSignal,
  contest: (claims?: true) => boolean | undefined,
  arena: unknown,
): Set<GiveUp> {
  const set = new Set<GiveUp>();
  waitersOf.set(signal, { set, contest, arena, unlisten() {} });
  return set;
}

/** @internal Tells all. */
export function tell(waiters: Set<GiveUp>, reason: unknown): void {
  // A copy, because everybody who is told leaves, and may make others leave or come.
  for (const giveUp of [...waiters]) {
    try {
      giveUp(reason);
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
  const waiters = signal && (waitersOf.get(signal) ?? listen(signal));
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
  if (signal?.aborted) queueMicrotask(() => end(signal.reason));
  const wait = (left: number): void => {
    const step = Math.min(left, LONGEST_TIMER);
    const next = () => (left > step ? wait(left - step) : end(timeoutError(timeout as number)));
    timer = setTimeout(next, step);
  };
  if (timeout !== undefined && timeout < Number.POSITIVE_INFINITY) wait(timeout);
  return stop;
}
