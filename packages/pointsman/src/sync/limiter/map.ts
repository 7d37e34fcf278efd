/**
 * What `limiter.map` does: the results of a function for many inputs, as fast as a limiter lets it run.
 *
 * One input is pulled ahead and waits for its turn; the next is pulled when that one has started. So no turn is ever
 * held for an input that is not there: a source may be slow, or use the same limiter.
 *
 * Invariant: at most one input that was pulled has not started. After the end, whatever ended it, nothing is pulled
 * and nothing waits.
 */

import { cancelledError, checkFunction, checkOneOf, invalid } from '../errors.js';
import { checkOptions, checkSignal } from '../options.js';
import { ChunkedList } from '../wait/chunked-list.js';
import { giveUpOn, nextMicrotask } from '../wait/give-up.js';
import type { Weight } from './rules.js';
import type { RunContext, Work } from './work.js';

/** What a limiter must offer. */
interface Turns {
  readonly concurrency: number;
  run<T>(fn: Work<T>, options: object): Promise<T>;
}

type Each<Input, Value> = Value | ((input: Input, index: number) => Value);

/** Whatever is no function: that would be asked for the key. */
type Key = string | number | bigint | boolean | symbol | object | null;

/** What the function is told about its input. */
export interface MapContext extends RunContext {
  /** Which input this is, from 0 on. */
  readonly index: number;
  /**
   * Aborts when the result is no longer needed: after an error, an abort, or when the reader has left. Also aborts when
   * `runTimeout` elapses.
   */
  readonly signal: AbortSignal;
}

/** What `Limiter.map` may be told. */
export interface MapOptions<Input> {
  /** Whether results come in the order of their inputs. Otherwise they come as they are ready. Default true. */
  readonly ordered?: boolean | undefined;
  /**
   * `'stop'`, the default, ends at the first error: what runs is aborted, no input is pulled any more, and the reader
   * gets the error. `'collect'` goes on, and throws an `AggregateError` of all errors after the last result.
   */
  readonly errors?: 'stop' | 'collect' | undefined;
  /** Ends all when it aborts: what runs is aborted, and the reader gets the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /**
   * As those of `Limiter.run`, for all inputs or as functions of each.
   */
  readonly weight?: Each<Input, Weight> | undefined;
  readonly key?: Each<Input, Key> | undefined;
  readonly priority?: Each<Input, number> | undefined;
  /** Bounds the work for each input, in milliseconds, as for `Limiter.run`. */
  readonly runTimeout?: number | undefined;
}

/** The results of {@link MapOptions | a map}: to be read in a loop, or all at once. */
export interface Mapped<Output> extends AsyncIterable<Output> {
  /** Reads all results. */
  toArray(): Promise<Output[]>;
}

const names: ReadonlySet<string> = new Set([
  'ordered',
  'errors',
  'signal',
  'weight',
  'key',
  'priority',
  'runTimeout',
]);

/** How many results may be ready and unread where concurrency has no bound. */
const MOST_UNREAD = 1_000;

/** The place of a result. */
interface Slot<Output> {
  state: 'waiting' | 'running' | 'ready' | 'failed';
  value: Output | undefined;
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as PromiseLike<unknown> | null)?.then === 'function';

/** One reading of the results. */
class Mapping<Input, Output> {
  readonly #limiter: Turns;
  readonly #fn: (input: Input, context: MapContext) => Output | PromiseLike<Output>;
  readonly #ordered: boolean;
  /** Whether the reader takes all results at the end, so that none holds anything back. */
  readonly #keepsAll: boolean;
  readonly #collects: boolean;
  readonly #wish: readonly [string, unknown][];
  readonly #iterator: Iterator<unknown> | AsyncIterator<unknown>;
  readonly #isAsync: boolean;
  readonly #stop: () => void;
  /** Aborts what runs, and whoever waits for its turn. */
  readonly #controller = new AbortController();
  readonly #plainOptions = { signal: this.#controller.signal };
  /** In order, those that were started as well; otherwise those that are ready. */
  readonly #slots = new ChunkedList<Slot<Output>>();
  readonly #errors: unknown[] = [];
  #index = 0;
  #running = 0;
  #unread = 0;
  /** An input is on its way, or waits for its turn. */
  #busy = false;
  #pulling = false;
  #ended = false;
  #failure: { readonly reason: unknown } | undefined;
  /** The limiter takes no more inputs: the reader gets the results of the started ones, and then the reason. */
  #refusal: { readonly reason: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(
    limiter: Turns,
    inputs: object,
    fn: (input: Input, context: MapContext) => Output | PromiseLike<Output>,
    { ordered = true, errors, signal, weight, key, priority, runTimeout }: MapOptions<Input>,
    keepsAll: boolean,
  ) {
    this.#limiter = limiter;
    this.#keepsAll = keepsAll;
    this.#fn = fn;
    this.#ordered = ordered;
    this.#collects = errors === 'collect';
    this.#wish = Object.entries({ weight, key, priority, runTimeout }).filter(
      ([, each]) => each !== undefined,
    );
    if (signal?.aborted) throw signal.reason;
    const source = inputs as AsyncIterable<unknown> & Iterable<unknown>;
    this.#isAsync = source[Symbol.asyncIterator] !== undefined;
    this.#iterator = (source[Symbol.asyncIterator] ?? source[Symbol.iterator]).call(source);
    this.#stop = giveUpOn({ signal }, (reason) => this.#fail(reason), Error as never);
    // As long as somebody waits on it, those who come and go cost no listener.
    giveUpOn({ signal: this.#controller.signal }, () => {}, Error as never);
    this.#pump();
  }

  /** The next result if it is there; otherwise whether one may come. Throws if it is over. */
  next(): Slot<Output> | boolean {
    for (;;) {
      // What the reader has not got when all is over, it never gets.
      if (this.#failure) throw this.#failure.reason;
      const slot = this.#slots.front;
      if (slot?.state === 'ready') {
        this.#slots.shift();
        this.#unread--;
        this.#pump();
        return slot;
      }
      if (slot?.state !== 'failed') break;
      this.#slots.shift();
    }
    if (!(this.#ended || this.#refusal) || this.#running > 0 || this.#busy) return true;
    if (this.#refusal) throw this.#refusal.reason;
    const errors = this.#errors;
    if (errors.length > 0) throw new AggregateError(errors, `${errors.length} inputs failed`);
    return false;
  }

  /** Waits until something has changed. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /**
   * Nobody reads any more. Waits until the source is closed, unless it is asked for an input, which may never come, or
   * something has failed, which counts more.
   */
  async close(): Promise<void> {
    this.#stop();
    const isOpen = !this.#ended;
    const isQuiet = this.#pulling || this.#failure !== undefined;
    if (isOpen || this.#running > 0) this.#fail(cancelledError(''));
    if (!isOpen) return;
    const closed = (async () => this.#iterator.return?.())();
    if (isQuiet) closed.catch(() => {});
    else await closed;
  }

  #fail(reason: unknown): void {
    if (this.#failure) return;
    this.#failure = { reason };
    this.#controller.abort(reason);
    this.#changed();
  }

  /** What an input has come to, or the pulling of it. */
  #lose(error: unknown): void {
    if (this.#collects) this.#errors.push(error);
    else this.#fail(error);
  }

  #changed(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  /** Pulls inputs until one has to wait for its turn, or the reader is behind. */
  #pump(): void {
    while (!this.#busy && !this.#ended && !this.#failure && !this.#refusal && this.#hasRoom()) {
      this.#busy = true;
      let step: IteratorResult<unknown> | Promise<IteratorResult<unknown>>;
      try {
        this.#pulling = true;
        step = this.#iterator.next();
      } catch (error) {
        this.#endsBy(error);
        return;
      }
      if (this.#isAsync) {
        Promise.resolve(step).then(
          (next) => {
            this.#arrive(next);
            this.#pump();
          },
          (error) => this.#endsBy(error),
        );
      } else {
        this.#arrive(step as IteratorResult<unknown>);
      }
    }
  }

  #hasRoom(): boolean {
    if (this.#keepsAll) return true;
    const { concurrency } = this.#limiter;
    const most = concurrency < Number.POSITIVE_INFINITY ? concurrency : MOST_UNREAD;
    return this.#unread < most && this.#running + this.#unread < 2 * most;
  }

  /** A source that throws is at its end, and needs not to be closed. */
  #endsBy(error: unknown): void {
    this.#pulling = this.#busy = false;
    this.#ended = true;
    this.#lose(error);
    this.#changed();
  }

  #arrive(step: IteratorResult<unknown>): void {
    this.#pulling = false;
    if (Object(step) !== step) {
      this.#endsBy(invalid('what next() of inputs gives', step, 'an object'));
      return;
    }
    const { done, value } = step;
    if (done) {
      this.#busy = false;
      this.#ended = true;
      this.#changed();
    } else if (isThenable(value)) {
      Promise.resolve(value)
        .then(
          (input) => this.#start(input as Input),
          (error) => {
            this.#index++;
            this.#busy = false;
            this.#lose(error);
            this.#changed();
          },
        )
        .then(() => this.#pump());
    } else {
      this.#start(value as Input);
    }
  }

  /** Asks for a turn. */
  #start(input: Input): void {
    const index = this.#index++;
    const { signal } = this.#controller;
    const slot: Slot<Output> = { state: 'waiting', value: undefined };
    if (this.#ordered) this.#slots.push(slot);
    const lose = (error: unknown): void => {
      this.#lose(error);
      this.#settle(slot, 'failed');
    };
    let options: Record<string, unknown> = this.#plainOptions;
    if (this.#wish.length > 0) {
      options = { signal };
      try {
        for (const [name, each] of this.#wish) {
          options[name] = typeof each === 'function' ? each(input, index) : each;
        }
      } catch (error) {
        lose(error);
        return;
      }
    }
    let waits = false;
    const run = (_: unknown, { signal }: RunContext) => {
      slot.state = 'running';
      this.#running++;
      this.#busy = false;
      // In a step of its own: this start is not logged yet.
      if (waits) nextMicrotask.then(() => this.#pump());
      const result = new Promise<Output>((resolve) => resolve(this.#fn(input, { index, signal })));
      // Heard of before its turn goes on to an input that waits.
      if (!this.#collects) result.catch((error) => this.#fail(error));
      return result;
    };
    this.#limiter.run(run, options).then(
      (value) => {
        this.#unread++;
        slot.value = value;
        this.#settle(slot, 'ready');
      },
      (error) => {
        if (slot.state === 'waiting' && !(error instanceof RangeError)) {
          // A refusal that is not due to this request's own options holds for all later inputs. Running work continues.
          this.#refusal ??= { reason: error };
          this.#settle(slot, 'failed');
        } else {
          lose(error);
        }
      },
    );
    waits = true;
  }

  #settle(slot: Slot<Output>, state: 'ready' | 'failed'): void {
    if (slot.state === 'running') this.#running--;
    else this.#busy = false;
    slot.state = state;
    if (!this.#ordered) this.#slots.push(slot);
    this.#changed();
    this.#pump();
  }
}

/**
 * The results of a function for many inputs, which are pulled as the limiter lets it run: what `Limiter.map` does.
 *
 * - **One input is pulled ahead** and waits for its turn; the next is pulled when it has started. What pulls waits in
 *   the queue as everybody does, and is refused as everybody is where that is full.
 * - **Results that are not read hold it back**, unless all are read at once: nothing is pulled while as many are ready as may run at once, or 1,000
 *   where concurrency has no bound; nor while twice as many run or are ready.
 * - **It can be left**: by `break`, by an error and by the signal. Then what runs is aborted and the source is closed;
 *   what runs on all the same keeps its turn until it has settled, and nobody hears of it.
 *
 * It starts when it is read. Inputs that are promises are awaited before their turn.
 */
export function map<Input, Output>(
  limiter: Turns,
  inputs: Iterable<Input | PromiseLike<Input>> | AsyncIterable<Input>,
  fn: (input: Input, context: MapContext) => Output | PromiseLike<Output>,
  options: MapOptions<Input> = {},
): Mapped<Output> {
  checkOptions(options, names);
  const { ordered = true, errors = 'stop', signal } = options;
  if (typeof ordered !== 'boolean') throw invalid('ordered', ordered, 'a boolean');
  checkOneOf('errors', errors, ['stop', 'collect']);
  checkSignal(signal);
  checkFunction('fn', fn);
  const source = Object(inputs) as AsyncIterable<Input> & Iterable<Input>;
  if (typeof (source[Symbol.asyncIterator] ?? source[Symbol.iterator]) !== 'function') {
    throw invalid('inputs', inputs, 'an iterable or an async iterable');
  }

  async function* read(): AsyncGenerator<Output, void, undefined> {
    const mapping = new Mapping(limiter, source, fn, options, false);
    try {
      for (let next = mapping.next(); next !== false; next = mapping.next()) {
        if (next === true) await mapping.changed();
        else yield next.value as Output;
      }
    } finally {
      await mapping.close();
    }
  }

  return {
    [Symbol.asyncIterator]: read,
    async toArray() {
      const results: Output[] = [];
      const mapping = new Mapping(limiter, source, fn, options, true);
      try {
        for (let next = mapping.next(); next !== false; next = mapping.next()) {
          if (next === true) await mapping.changed();
          else results.push(next.value as Output);
        }
      } finally {
        await mapping.close();
      }
      return results;
    },
  };
}
