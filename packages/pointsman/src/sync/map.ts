/**
 * Runs work for many inputs and yields the results: the common part of `Limiter.map` and `Pool.map`.
 *
 * One input is pulled ahead and waits for its start; the next is pulled when that one has started. So no place is ever
 * held for an input that has not arrived: a source may be slow, or use the same limiter.
 *
 * Invariant: at most one pulled input has not started. After the end, for any reason, nothing is pulled and no input
 * waits.
 */

import { cancelledError, invalid } from './errors.js';
import { ChunkedList } from './wait/chunked-list.js';
import { giveUpOn, nextMicrotask } from './wait/give-up.js';

/** What runs the work. */
export interface Runner<Input, Output> {
  /**
   * Runs the work for an input, and passes the promise of the result to `started` as soon as the work starts. A rejection
   * before that ends the pulling, because all later inputs would be refused as well. What `run` throws, and a
   * `RangeError`, fails only this input.
   */
  run(
    input: Input,
    index: number,
    signal: AbortSignal,
    started: (result: Promise<Output>) => Promise<Output>,
  ): Promise<Output>;
  /** Whether another input may be pulled while `running` inputs run and `unread` results are unread. */
  hasSpace(running: number, unread: number): boolean;
}

export interface Reading {
  readonly signal?: AbortSignal | undefined;
  /** Whether results have the order of their inputs, otherwise in the order in which they are ready. */
  readonly ordered: boolean;
  /**
   * `stop`: the first error ends the map at once. `in-turn`: so does it when its turn to be read comes. `collect`: all
   * inputs are run, and then an `AggregateError` is thrown.
   */
  readonly errors: 'stop' | 'in-turn' | 'collect';
}

/** The results of a `map`, for a loop or all at once. Each use runs the map anew. */
export interface Mapped<Output> extends AsyncIterable<Output> {
  /** Reads all results. */
  toArray(): Promise<Output[]>;
}

interface Slot<Output> {
  state: 'waiting' | 'running' | 'ready' | 'failed';
  value: Output | undefined;
  error?: unknown;
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as PromiseLike<unknown> | null)?.then === 'function';

type Source = AsyncIterable<unknown> & Iterable<unknown>;

/** One iteration of the results. */
class Mapping<Input, Output> {
  readonly #runner: Runner<Input, Output>;
  readonly #reading: Reading;
  /** All results, if they are read at the end. Then unread ones hold nothing back. */
  readonly #results: Output[] | undefined;
  readonly #iterator: Iterator<unknown> | AsyncIterator<unknown>;
  readonly #isAsync: boolean;
  readonly #stopListening: () => void;
  /** Aborts running work and waiting requests. */
  readonly #controller = new AbortController();
  /** For a reader in a loop. If ordered, the started inputs as well; otherwise only results that are ready. */
  readonly #slots = new ChunkedList<Slot<Output>>();
  readonly #errors: unknown[] = [];
  #index = 0;
  #running = 0;
  #unread = 0;
  /** Whether an input is being pulled or waits for its start. */
  #isBusy = false;
  #isPulling = false;
  #ended = false;
  /** Ends everything: the reader gets nothing else. */
  #failure: { readonly reason: unknown } | undefined;
  /** Ends the pulling: the reader gets the results of the started inputs, and then the reason. */
  #refusal: { readonly reason: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(
    runner: Runner<Input, Output>,
    source: Source,
    iterate: () => Iterator<unknown> | AsyncIterator<unknown>,
    reading: Reading,
    results?: Output[],
  ) {
    const { signal } = reading;
    if (signal?.aborted) throw signal.reason;
    this.#runner = runner;
    this.#reading = reading;
    this.#results = results;
    this.#isAsync = iterate === source[Symbol.asyncIterator];
    this.#iterator = iterate.call(source);
    this.#stopListening = giveUpOn({ signal }, (reason) => this.#fail(reason), Error as never);
    // While this one waits on the signal, requests that come and go add and remove no listener.
    giveUpOn({ signal: this.#controller.signal }, () => {}, Error as never);
    this.#pump();
  }

  /** Returns the next result if it is ready, otherwise whether there will be one. Throws at the end after an error. */
  next(): Slot<Output> | boolean {
    for (;;) {
      if (this.#failure) throw this.#failure.reason;
      const slot = this.#slots.front;
      if (slot?.state === 'ready') {
        this.#slots.shift();
        this.#unread--;
        this.#pump();
        return slot;
      }
      if (slot?.state !== 'failed') break;
      if (this.#reading.errors === 'in-turn') this.#fail(slot.error);
      this.#slots.shift();
    }
    if (!(this.#ended || this.#refusal) || this.#running > 0 || this.#isBusy) return true;
    if (this.#refusal) throw this.#refusal.reason;
    const errors = this.#errors;
    if (errors.length > 0) throw new AggregateError(errors, `${errors.length} inputs failed`);
    return false;
  }

  /** Waits for a change after which `next` may return something else. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /**
   * Called when the reader leaves. Waits until the source is closed, except while an input is being pulled, which may
   * never arrive, and except after a failure, which takes precedence.
   */
  async close(): Promise<void> {
    this.#stopListening();
    const isOpen = !this.#ended;
    const isQuiet = this.#isPulling || this.#failure;
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

  /** Handles the error of an input or of the source. */
  #lose(error: unknown): void {
    const { errors } = this.#reading;
    if (errors === 'collect') this.#errors.push(error);
    else if (errors === 'stop') this.#fail(error);
    else this.#refusal ??= { reason: error };
  }

  #changed(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  /** Pulls inputs until one has to wait for its start, or the reader is behind. */
  #pump(): void {
    while (
      !(this.#isBusy || this.#ended || this.#failure || this.#refusal) &&
      (this.#results || this.#runner.hasSpace(this.#running, this.#unread))
    ) {
      this.#isBusy = this.#isPulling = true;
      let step: IteratorResult<unknown> | Promise<IteratorResult<unknown>>;
      try {
        step = this.#iterator.next();
      } catch (error) {
        this.#end(error);
        return;
      }
      if (this.#isAsync) {
        Promise.resolve(step).then(
          (next) => {
            this.#arrive(next);
            this.#pump();
          },
          (error) => this.#end(error),
        );
      } else {
        this.#arrive(step as IteratorResult<unknown>);
      }
    }
  }

  /** Ends with an error of the source, which then need not be closed. */
  #end(error: unknown): void {
    this.#isPulling = this.#isBusy = false;
    this.#ended = true;
    this.#lose(error);
    this.#changed();
  }

  #arrive(step: IteratorResult<unknown>): void {
    this.#isPulling = false;
    if (Object(step) !== step) {
      this.#end(invalid('the result of next() of inputs', step, 'an object'));
      return;
    }
    const { done, value } = step;
    if (done) {
      this.#isBusy = false;
      this.#ended = true;
      this.#changed();
    } else if (isThenable(value)) {
      Promise.resolve(value)
        .then(
          (input) => this.#start(input as Input),
          (error) => {
            this.#index++;
            this.#isBusy = false;
            this.#lose(error);
            this.#changed();
          },
        )
        .then(() => this.#pump());
    } else {
      this.#start(value as Input);
    }
  }

  #start(input: Input): void {
    const slot: Slot<Output> = { state: 'waiting', value: undefined };
    const { errors, ordered } = this.#reading;
    const results = this.#results;
    const index = this.#index++;
    if (ordered && !results) this.#slots.push(slot);
    let waits = false;
    const started = (result: Promise<Output>) => {
      slot.state = 'running';
      this.#running++;
      this.#isBusy = false;
      // In a step of its own: the limiter has not logged this start yet.
      if (waits) nextMicrotask.then(() => this.#pump());
      // Fails before the limiter starts an input that waits.
      if (errors === 'stop') result.catch((error) => this.#fail(error));
      return result;
    };
    let result: Promise<Output>;
    try {
      result = this.#runner.run(input, index, this.#controller.signal, started);
    } catch (error) {
      this.#miss(slot, error);
      return;
    }
    result.then(
      (value) => {
        this.#unread++;
        slot.value = value;
        if (results) results[ordered ? index : results.length] = value;
        this.#settle(slot, 'ready');
      },
      (error) =>
        this.#miss(slot, error, slot.state === 'waiting' && !(error instanceof RangeError)),
    );
    waits = true;
  }

  /** Handles the failure of an input, or the refusal of it and all later ones. */
  #miss(slot: Slot<Output>, error: unknown, isRefusal?: boolean): void {
    slot.error = error;
    if (isRefusal) this.#refusal ??= { reason: error };
    else this.#lose(error);
    this.#settle(slot, 'failed');
  }

  #settle(slot: Slot<Output>, state: 'ready' | 'failed'): void {
    if (slot.state === 'running') this.#running--;
    else this.#isBusy = false;
    slot.state = state;
    if (!(this.#reading.ordered || this.#results)) this.#slots.push(slot);
    // All results are read at the end, and until then something runs.
    if (!(this.#results && this.#running)) this.#changed();
    this.#pump();
  }
}

/** Maps inputs lazily: nothing is pulled before the results are read. Throws if `inputs` cannot be iterated. */
export function mapInputs<Input, Output>(
  runner: Runner<Input, Output>,
  inputs: unknown,
  reading: Reading,
): Mapped<Output> {
  const source: Source = Object(inputs);
  const iterate = source[Symbol.asyncIterator] ?? source[Symbol.iterator];
  if (typeof iterate !== 'function') {
    throw invalid('inputs', inputs, 'an iterable or an async iterable');
  }
  async function* read(results?: Output[]) {
    const mapping = new Mapping(runner, source, iterate, reading, results);
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
    [Symbol.asyncIterator]: () => read(),
    async toArray() {
      const results: Output[] = [];
      // Yields nothing, so this runs to the end.
      await read(results).next();
      return results;
    },
  };
}
