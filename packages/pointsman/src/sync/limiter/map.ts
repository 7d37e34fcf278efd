/** `Limiter.map`: each input is a request of the limiter, with its own weight, key and priority. */

import { checkFunction, checkOneOf, invalid } from '../errors.js';
import { type Mapped, mapInputs } from '../map.js';
import { checkOptions, checkSignal } from '../options.js';
import type { Weight } from './rules.js';
import type { RunContext, Work } from './run.js';

/** The part of a limiter that `map` uses. */
interface Runs {
  readonly concurrency: number;
  run<T>(fn: Work<T>, options: object): Promise<T>;
}

type Each<Input, Value> = Value | ((input: Input, index: number) => Value);

/** Any value but a function, which would be called to compute the key. */
type Key = string | number | bigint | boolean | symbol | object | null;

/** The second argument of the function. */
export interface MapContext extends RunContext {
  /** The index of the input, from 0 on. */
  readonly index: number;
  /**
   * Aborts when the result is no longer needed: after an error, an abort, or when the reader has left. Also aborts when
   * `runTimeout` elapses.
   */
  readonly signal: AbortSignal;
}

/** Options for {@link Limiter.map}. */
export interface MapOptions<Input> {
  /** Whether results arrive in input order; if not, they arrive in order of completion. Default: true. */
  readonly ordered?: boolean | undefined;
  /**
   * `'stop'`, the default: the first error ends the map. Running functions are aborted, no further input is pulled, and
   * the reader gets the error. `'collect'`: all inputs are run, and an `AggregateError` of all errors is thrown after the
   * last result.
   */
  readonly errors?: 'stop' | 'collect' | undefined;
  /** Ends the map when it aborts: running functions are aborted, and the reader gets the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** As for {@link Limiter.run}: one value for all inputs, or a function of each input and its index. */
  readonly weight?: Each<Input, Weight> | undefined;
  /** As for {@link Limiter.run}: one value for all inputs, or a function of each input and its index. */
  readonly key?: Each<Input, Key> | undefined;
  /** As for {@link Limiter.run}: one value for all inputs, or a function of each input and its index. */
  readonly priority?: Each<Input, number> | undefined;
  /** Bounds the work for each input, in milliseconds, as for {@link Limiter.run}. */
  readonly runTimeout?: number | undefined;
}

const names: readonly string[] = [
  'ordered',
  'errors',
  'signal',
  'weight',
  'key',
  'priority',
  'runTimeout',
];

/** Maximum number of unread results if the concurrency is unbounded. */
const MAX_UNREAD = 1_000;

export function map<Input, Output>(
  limiter: Runs,
  inputs: Iterable<Input | PromiseLike<Input>> | AsyncIterable<Input>,
  fn: (input: Input, context: MapContext) => Output | PromiseLike<Output>,
  options: MapOptions<Input> = {},
): Mapped<Output> {
  checkOptions(options, names);
  const { ordered = true, errors = 'stop', signal, ...each } = options;
  if (typeof ordered !== 'boolean') throw invalid('ordered', ordered, 'a boolean');
  checkOneOf('errors', errors, ['stop', 'collect']);
  checkSignal(signal);
  checkFunction('fn', fn);
  const given = Object.entries(each);
  return mapInputs<Input, Output>(
    {
      run(input, index, signal, started) {
        const request: Record<string, unknown> = { signal };
        for (const [name, each] of given) {
          request[name] = typeof each === 'function' ? each(input, index) : each;
        }
        const work = (_: unknown, { signal }: RunContext) => {
          let result: Promise<Output>;
          try {
            result = Promise.resolve(fn(input, { index, signal }));
          } catch (error) {
            result = Promise.reject(error);
          }
          return started(result);
        };
        return limiter.run(work, request);
      },
      hasSpace(running, unread) {
        const { concurrency } = limiter;
        const max = concurrency < Infinity ? concurrency : MAX_UNREAD;
        return unread < max && running + unread < 2 * max;
      },
    },
    inputs,
    { ordered, errors, signal },
  );
}
