/**
 * The first of several waits.
 *
 * The first grant decides, in the very step in which it is made: each case waits under a signal of its own, and
 * whoever grants anything under one of them claims the contest (`claim` in give-up.ts). From then on the other signals
 * have lost, before any of them is told; so nobody who leaves a queue can let another case of the same select in.
 * What knows nothing of contests takes part by settling: it wins if nobody has won before.
 *
 * Invariant: at most one case wins; all others are told to leave in the step in which it does.
 */

import { asyncDispose, dispose } from '../dispose.js';
import { cancelledError, invalid, timedOut } from '../errors.js';
import type { Own, WaitOptions } from '../options.js';
import {
  type Contest,
  contestOf,
  giveUpOn,
  isOver,
  nextMicrotask,
  OwnSignal,
  tell,
  waitersOn,
} from '../wait/give-up.js';
import { readRequest } from '../wait/queue.js';

/** What a case of {@link select} passes on to the operation that it starts: it loses when this signal aborts. */
export interface SelectSignal {
  readonly signal: AbortSignal;
}

/** A case that is switched off. */
type Off = false | null | undefined;

/** What {@link select} may wait for: an operation to start, a promise, a number of milliseconds, or nothing. */
export type SelectCase = ((only: SelectSignal) => unknown) | PromiseLike<unknown> | number | Off;

type ValueOf<Case> = Case extends (only: SelectSignal) => infer Result
  ? Awaited<Result>
  : Case extends number
    ? undefined
    : Awaited<Case>;

/** What {@link select} answers: the key of the case that won, and its value. */
export type Selected<Cases> = {
  [Key in keyof Cases]: [Exclude<Cases[Key], Off>] extends [never]
    ? never
    : { readonly key: Key; readonly value: ValueOf<Exclude<Cases[Key], Off>> };
}[keyof Cases];

/** What {@link select} may be told. */
export interface SelectOptions extends WaitOptions {
  /** Starts the cases in the order in which they are written. By default the order is random each time. */
  readonly biased?: boolean | undefined;
}

const selectNames: ReadonlySet<string> = new Set(['biased', 'signal', 'timeout']);

/** Why the others leave. One for all: to make an exception takes longer than all the rest. */
const lost = /* @__PURE__ */ cancelledError('select: ');

const signalOfCase: PropertyDescriptor & ThisType<Own> = {
  enumerable: true,
  get() {
    return this._own.signal;
  },
};

/**
 * What a case passes on. This package finds its own signal behind it; the platform's is made when somebody reads
 * `signal`, or spreads it, which needs a property of the object itself.
 */
class Only implements Own, SelectSignal {
  readonly #own: OwnSignal;
  declare readonly signal: AbortSignal;

  constructor(own: OwnSignal) {
    this.#own = own;
    Object.defineProperty(this, 'signal', signalOfCase);
  }

  get _own(): OwnSignal {
    return this.#own;
  }
}

type Settled = (promise: Promise<unknown>) => void;

/** Of promises that are given as they are: who wants to know, or once it has settled, the promise. */
const watched = new WeakMap<object, Set<Settled> | Promise<unknown>>();

/**
 * Calls back once the promise has settled, in this step if that is known; what it returns stops that. A promise cannot
 * be told that nobody waits for it any more, so each is asked once, however many selects wait for it: a loop that
 * selects a promise of its end would otherwise leave a callback with it in each turn.
 */
function watch(given: PromiseLike<unknown>, settled: Settled): () => void {
  let entry = watched.get(given);
  if (!entry) {
    const watchers = new Set<Settled>();
    const promise = Promise.resolve(given);
    const tell = () => {
      watched.set(given, promise);
      for (const each of watchers) each(promise);
    };
    promise.then(tell, tell);
    watched.set(given, watchers);
    entry = watchers;
  }
  const watchers = entry;
  if (watchers instanceof Set) watchers.add(settled);
  else settled(watchers);
  return () => (watchers as Set<Settled>).delete?.(settled);
}

/** Gives back what nobody will ever see. Where that fails, it is reported as any other unhandled rejection. */
function disposeOf(value: unknown): unknown {
  const disposable = Object(value);
  return (disposable[asyncDispose] ?? disposable[dispose])?.call(value);
}

/**
 * Waits for the first of several operations: exactly one takes effect, and the others leave no trace.
 *
 * A case is one of these:
 * - **A function**: it starts an operation and passes on the `signal` that it is given. An operation of this package
 *   wins in the very step in which it is granted; in that step the others leave their queues. So no value is received,
 *   no permit taken and no notification used up by a case that loses. Whatever else it starts (`fetch`, a lock of
 *   another machine) wins when it settles, if nobody has won by then, and is aborted otherwise.
 * - **A promise**, which wins when it settles. One that lives long, such as that of a shutdown, belongs here as it is:
 *   it can be selected any number of times without growing.
 * - **A number**: a timer, in milliseconds. Its value is `undefined`.
 * - `false`, `null` or `undefined`: switched off. With all cases switched off there is nothing to wait for, which is a
 *   `TypeError`.
 *
 * Cases start one after another in a random order, or with `biased` in the order written, until one has won; those
 * after it never start. So several that are always ready all get their turns. What a case started outside of this
 * package may be ready without our knowing, so that the next case starts in the next microtask.
 *
 * A case whose promise rejects wins as well: the select rejects with its reason. A case that goes on after it has won
 * (receives, and then acquires) has time to do so; its signal never aborts because of the select, so that the body of
 * a response can still be read. A case that has lost and is fulfilled all the same with something disposable is
 * disposed of, and its rejection is ignored.
 *
 * `signal` and `timeout` end all cases and reject. If a case has won and is still under way, they abort only its
 * signal, and what comes of it is the answer. A `timeout` of 0 leaves the others the turn of the event loop.
 *
 * @throws {RangeError | TypeError} for cases and options that cannot be used, as a rejection.
 *
 * @example
 * ```ts
 * import { Semaphore, select } from 'pointsman';
 *
 * const readers = new Semaphore(2);
 * const writers = new Semaphore(0);
 *
 * const first = await select({
 *   reader: (only) => readers.acquire({ permits: 2, ...only }),
 *   writer: (only) => writers.acquire(only),
 *   late: 1_000,
 * });
 * if (first.key === 'reader') console.log(first.value.permits); // 2
 * console.log(first.key, readers.available, writers.waiting); // reader 0 0
 * ```
 */
export function select<Cases extends Readonly<Record<string, SelectCase>>>(
  cases: Cases,
  options: SelectOptions = {},
): Promise<Selected<Cases>> {
  return new Promise((resolve, reject) => {
    const request = readRequest(options, selectNames);
    const { biased = false } = options;
    if (typeof biased !== 'boolean') throw invalid('biased', biased, 'a boolean');
    const left = Object.entries(cases ?? {}).filter(
      (entry) => entry[1] !== false && entry[1] != null,
    );
    if (left.length === 0) throw invalid('cases', cases, 'an object with a case to wait for');
    for (const [key, each] of left) {
      if (typeof each === 'number' && each >= 0) continue;
      if (typeof ((each as PromiseLike<unknown>).then ?? each) === 'function') continue;
      throw invalid(`case ${key}`, each, 'a function, a promise or a number of milliseconds');
    }
    // From here on, the first is the last.
    if (biased) left.reverse();
    const contenders: OwnSignal[] = [];
    /** Null if nobody can win any more. */
    let winner: unknown;

    /** Sends away who has won, or all others. */
    const dismiss = (reason: unknown, won = false): void => {
      // First all signals: who is sent away because others left before it must find the reason there.
      for (const each of contenders) if ((each === winner) === won) each.abort(reason);
      for (const each of contenders) if ((each === winner) === won) tell(each.set, reason);
    };

    const contest: Contest = {
      root: contestOf(request.signal)?.root ?? contenders,
      isLost: (signal) =>
        winner === undefined ? isOver(request.signal) : winner !== waitersOn(signal),
      decide(signal) {
        if (winner !== undefined) return;
        winner = waitersOn(signal);
        // This select may itself be a case: then that one has won.
        const leave = contestOf(request.signal)?.decide(request.signal);
        return () => {
          dismiss(lost);
          leave?.();
        };
      },
    };

    /** Whether this is the winner. Of an open contest, whoever asks is. */
    const wins = (contender: OwnSignal): boolean => {
      contest.decide(contender as unknown as AbortSignal)?.();
      return winner === contender;
    };

    const stop = giveUpOn(
      request,
      (reason) => {
        // Who has won already is told as well, and answers as it sees fit.
        if (winner) return dismiss(reason, true);
        winner = null;
        dismiss(reason);
        reject(reason);
      },
      timedOut,
    );

    const follow = (contender: OwnSignal, key: string, promise: Promise<unknown>) =>
      promise.then(
        (value) => {
          if (!wins(contender)) return disposeOf(value);
          stop();
          resolve({ key, value } as Selected<Cases>);
        },
        (reason) => {
          if (!wins(contender)) return;
          stop();
          reject(reason);
        },
      );

    const startNext = (): void => {
      while (winner === undefined) {
        const index = biased ? left.length - 1 : Math.floor(Math.random() * left.length);
        const entry = left[index];
        if (entry === undefined) return;
        const [key, next] = entry as [string, Exclude<SelectCase, Off>];
        left[index] = left[left.length - 1] as typeof entry;
        left.pop();
        const contender = new OwnSignal(contest);
        const waiters = contender.set;
        contenders.push(contender);
        if (typeof next === 'function') {
          let promise: Promise<unknown>;
          try {
            promise = Promise.resolve(next(new Only(contender)));
          } catch (error) {
            promise = Promise.reject(error);
          }
          follow(contender, key, promise);
        } else {
          // Asks first: the value of a promise that was given as it is belongs to whoever gave it.
          const settled = (promise: unknown) =>
            wins(contender) && follow(contender, key, promise as Promise<unknown>);
          waiters.add(
            typeof next === 'number'
              ? giveUpOn({ timeout: next }, settled, () => Promise.resolve())
              : watch(next, settled),
          );
        }
        if (waiters.size === 0 || typeof next === 'object') {
          // It may have settled already, and gets the time to say so.
          if (winner === undefined) nextMicrotask.then(startNext);
          return;
        }
      }
    };
    startNext();
  });
}
