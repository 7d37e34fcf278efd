/**
 * `select`: waits for the first of several operations.
 *
 * Each case waits with its own signal, and the signals of one select belong to one contest. A primitive that grants a
 * request decides the contest of its signal in the same step (`winContest` in give-up.ts). From then on the other cases have
 * lost, before their listeners run, so a case that leaves a queue cannot cause another case of the same select to be
 * granted. An operation outside this package takes part when its promise settles: it wins if no other case has won.
 *
 * Invariant: at most one case wins, and all others are cancelled in the same step.
 */

import { asyncDispose, dispose } from '../dispose.js';
import { cancelledError, invalid, timedOut } from '../errors.js';
import type { WaitOptions } from '../options.js';
import {
  type Contest,
  callAll,
  contestOf,
  giveUpOn,
  isOver,
  nextMicrotask,
  type Own,
  OwnSignal,
  waitersOn,
} from '../wait/give-up.js';
import { readWait } from '../wait/queue.js';

/** The argument of a case function of {@link select}. Pass its signal to the operation; it aborts when the case loses. */
export interface SelectSignal {
  readonly signal: AbortSignal;
}

/** A disabled case. */
type Off = false | null | undefined;

/** A case of {@link select}: a function that starts an operation, a promise, milliseconds, or a disabled case. */
export type SelectCase = ((only: SelectSignal) => unknown) | PromiseLike<unknown> | number | Off;

type ValueOf<Case> = Case extends (only: SelectSignal) => infer Result
  ? Awaited<Result>
  : Case extends number
    ? undefined
    : Awaited<Case>;

/** The result of {@link select}: the key of the case that won, and its value. */
export type Selected<Cases> = {
  [Key in keyof Cases]: [Exclude<Cases[Key], Off>] extends [never]
    ? never
    : { readonly key: Key; readonly value: ValueOf<Exclude<Cases[Key], Off>> };
}[keyof Cases];

/** Options for {@link select}. */
export interface SelectOptions extends WaitOptions {
  /** Starts the cases in the order in which they are written. Default: `false`, a random order on each call. */
  readonly biased?: boolean | undefined;
}

const selectNames: readonly string[] = ['biased', 'signal', 'timeout'];

/** The reason of cases that have lost. Shared, because creating a `DOMException` takes longer than everything else. */
const lost = /* @__PURE__ */ cancelledError('select: ');

const signalOfCase: PropertyDescriptor & ThisType<Own> = {
  enumerable: true,
  get() {
    return this._own.signal;
  },
};

/**
 * The argument of a case function. This package reads its own signal from it; the platform's `AbortSignal` is created
 * only when `signal` is read. It is an own property, so that object spread copies it.
 */
class CaseSignal implements Own, SelectSignal {
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

/** The callbacks for each promise used as a case or, once the promise has settled, the promise itself. */
const observed = new WeakMap<object, Set<Settled> | Promise<unknown>>();

/**
 * Calls `settled` when the promise has settled; at once if it is known to have settled. Returns a function that removes
 * the callback.
 *
 * A callback cannot be removed from a promise, so each promise gets only one, however many selects wait for it. A loop
 * that selects a shutdown promise would otherwise add a callback in each iteration.
 */
function observe(given: PromiseLike<unknown>, settled: Settled): () => void {
  let entry = observed.get(given);
  if (!entry) {
    const callbacks = new Set<Settled>();
    const promise = Promise.resolve(given);
    const callAll = () => {
      observed.set(given, promise);
      for (const callback of callbacks) callback(promise);
    };
    promise.then(callAll, callAll);
    observed.set(given, callbacks);
    entry = callbacks;
  }
  const callbacks = entry;
  if (callbacks instanceof Set) callbacks.add(settled);
  else settled(callbacks);
  return () => (callbacks as Set<Settled>).delete?.(settled);
}

/** Disposes of the value of a case that has lost. A failure is reported as an unhandled rejection. */
function disposeOf(value: unknown): unknown {
  const disposable = Object(value);
  return (disposable[asyncDispose] ?? disposable[dispose])?.call(value);
}

/**
 * Waits for the first of several operations: exactly one takes effect, and the others are cancelled.
 *
 * A case is one of these:
 * - **A function** that starts an operation and passes it the `signal`. An operation of this package wins in the step in
 *   which it is granted; in the same step the other cases leave their queues. So a case that loses receives no value,
 *   takes no permit and uses up no notification. Any other operation (`fetch`, a lock on another machine) wins when its
 *   promise settles, if no case has won before; otherwise its signal aborts.
 * - **A promise**, which wins when it settles. A long-lived promise, such as one for shutdown, can be selected any number
 *   of times without growing.
 * - **A number**: a timer, in milliseconds. Its value is `undefined`.
 * - `false`, `null` or `undefined`: disabled. Rejects with a `TypeError` if all cases are disabled.
 *
 * Cases start one after another, in a random order or, with `biased`, in the order written, until one has won; later
 * cases never start. So cases that are always ready all win in turn. After a case that starts an operation outside this
 * package, the next case starts one microtask later, because the operation may be ready already.
 *
 * A case whose promise rejects wins too: the select rejects with the same reason. A case that has won may continue, for
 * example receive and then acquire: its signal never aborts because of the select, so the body of a response can still
 * be read. If a case that has lost fulfills with a disposable value, the value is disposed of; its rejection is ignored.
 *
 * `signal` and `timeout` cancel all cases and reject the select. After a case has won, they only abort the signal of
 * that case, and the select settles with its outcome. A `timeout` of 0 gives the cases one turn of the event loop.
 *
 * @throws {RangeError | TypeError} for invalid cases or options, as a rejection.
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
    const request = readWait(options, selectNames);
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
    // Cases start from the end of the list.
    if (biased) left.reverse();
    const contenders: OwnSignal[] = [];
    /** Null if the select was cancelled: no case can win. */
    let winner: unknown;

    /** Cancels the case that has won, or all others. */
    const dismiss = (reason: unknown, won = false): void => {
      // All signals first: a case that one of the listeners cancels must find its reason there.
      for (const each of contenders) if ((each === winner) === won) each.abort(reason);
      for (const each of contenders) if ((each === winner) === won) callAll(each.set, reason);
    };

    const contest: Contest = {
      root: contestOf(request.signal)?.root ?? contenders,
      isLost: (signal) =>
        winner === undefined ? isOver(request.signal) : winner !== waitersOn(signal),
      decide(signal) {
        if (winner !== undefined) return;
        winner = waitersOn(signal);
        // If this select is itself a case of another one, that case has won.
        const leave = contestOf(request.signal)?.decide(request.signal);
        return () => {
          dismiss(lost);
          leave?.();
        };
      },
    };

    /** Decides an open contest for this contender. Returns whether it has won. */
    const wins = (contender: OwnSignal): boolean => {
      contest.decide(contender as unknown as AbortSignal)?.();
      return winner === contender;
    };

    const stop = giveUpOn(
      request,
      (reason) => {
        // The winner's signal aborts; the select settles with its outcome.
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
            promise = Promise.resolve(next(new CaseSignal(contender)));
          } catch (error) {
            promise = Promise.reject(error);
          }
          follow(contender, key, promise);
        } else {
          // `wins` first: the value of a promise case belongs to the caller and is not disposed of.
          const settled = (promise: unknown) =>
            wins(contender) && follow(contender, key, promise as Promise<unknown>);
          waiters.add(
            typeof next === 'number'
              ? giveUpOn({ timeout: next }, settled, () => Promise.resolve())
              : observe(next, settled),
          );
        }
        if (waiters.size === 0 || typeof next === 'object') {
          // The operation may have settled already: its callback runs before the next microtask.
          if (winner === undefined) nextMicrotask.then(startNext);
          return;
        }
      }
    };
    startNext();
  });
}
