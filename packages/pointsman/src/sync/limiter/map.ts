/**
 * What `limiter.map` does: the results of a function for many inputs, as fast as a limiter lets it run.
 *
 * `advance` pulls: if there is room for results, it asks the limiter for a turn, and only then for an input, which it
 * runs without waiting for the result. It is called whenever something has changed, and waits for nothing itself. One
 * request stands in the limiter's queue for all inputs. The reader takes results in order or as they come.
 *
 * Invariant: an input that was pulled is run, unless all is over before its turn. After the end, whatever ended it,
 * no permit is held but by what still runs, nothing is pulled, and nothing waits.
 */

import { cancelledError, invalid } from '../errors.js';
import { giveUpOn } from '../give-up.js';
import { checkOptions, checkSignal } from '../options.js';
import { Permit } from '../permit.js';
import type { StartRequest } from './lanes.js';
import type { Starting } from './start.js';

/** What a limiter must offer. */
interface Turns {
  readonly concurrency: number;
  /** Reads options, and throws for those that cannot be used. */
  _read(options: object): StartRequest;
  /** A turn if one can be had at once; otherwise the request waits for one. */
  _turn(request: StartRequest): Starting | undefined;
  /** Gives a turn back and takes it again, where nobody but this request waits, which goes on waiting. */
  _renew(permit: Permit, request: StartRequest): boolean;
  /** Takes a request out of the queue. */
  _withdraw(request: StartRequest): void;
}

type Each<Input, Value> = Value | ((input: Input, index: number) => Value);

/** Whatever is no function: that would be asked for the key. */
type Key = string | number | bigint | boolean | symbol | object | null;

/** What the function is told about its input. */
export interface MapContext {
  /** Which input this is, from 0 on. */
  readonly index: number;
  /** Aborts when the result is of no use any more: after an error, an abort, or when the reader has left. */
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
   * As those of `Limiter.run`, for all inputs or as functions of each. A function must see the input before
   * its turn: then one input at most is pulled that cannot run yet.
   */
  readonly weight?: Each<Input, number> | undefined;
  readonly key?: Each<Input, Key> | undefined;
  readonly priority?: Each<Input, number> | undefined;
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
]);

/** How many results may be ready and unread where concurrency has no bound. */
const MOST_UNREAD = 16;

interface Slot<Output> {
  /** Undefined as long as it runs. */
  ok: boolean | undefined;
  value: Output | undefined;
}

/** What the function is told: the signal is made only if it is asked for. */
class Context implements MapContext {
  readonly index: number;
  readonly #signalOf: () => AbortSignal;

  constructor(index: number, signalOf: () => AbortSignal) {
    this.index = index;
    this.#signalOf = signalOf;
  }

  get signal(): AbortSignal {
    return this.#signalOf();
  }
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as PromiseLike<unknown> | null)?.then === 'function';

/**
 * The results of a function for many inputs, which are pulled as the limiter lets it run: what `Limiter.map` does.
 *
 * - **An input is asked for when it is its turn.** With nothing under way and nothing to read it is asked for before
 *   its turn, so that the end is found without waiting for one: one input at most is held that cannot run yet. The end
 *   of a source other than an array may cost a turn that is not used.
 * - **Results that are not read hold it back**: nothing starts while as many are ready as may run at once, or 16 where
 *   concurrency has no bound. At most as many again are under way. `toArray` reads all, and holds nothing back.
 * - **It can be left**: by `break`, by an error and by the signal. Then what runs is aborted and the source is closed;
 *   what runs on all the same keeps its turn until it has settled, and nobody hears of it.
 *
 * It starts when it is read. Inputs that are promises are awaited in their turn.
 */
export function map<Input, Output>(
  limiter: Turns,
  inputs: Iterable<Input | PromiseLike<Input>> | AsyncIterable<Input>,
  fn: (input: Input, context: MapContext) => Output | PromiseLike<Output>,
  options: MapOptions<Input> = {},
): Mapped<Output> {
  checkOptions(options, names);
  const { ordered = true, errors: mode = 'stop', signal, weight, key, priority } = options;
  if (typeof ordered !== 'boolean') throw invalid('ordered', ordered, 'a boolean');
  if (mode !== 'stop' && mode !== 'collect') throw invalid('errors', mode, "'stop' or 'collect'");
  checkSignal(signal);
  if (typeof fn !== 'function') throw invalid('fn', fn, 'a function');
  const source = Object(inputs) as AsyncIterable<Input> & Iterable<Input | PromiseLike<Input>>;
  const isAsync = source[Symbol.asyncIterator] !== undefined;
  const open = isAsync ? source[Symbol.asyncIterator] : source[Symbol.iterator];
  if (typeof open !== 'function') {
    throw invalid('inputs', inputs, 'an iterable or an async iterable');
  }
  const asked = Object.entries({ weight, key, priority }).filter(([, each]) => each !== undefined);
  const early = asked.some(([, each]) => typeof each === 'function');

  /** Starts, and is read by `isReady`, `wait` and `take`. Whoever begins must `leave`. `eager` is who keeps all results. */
  function begin(eager: boolean) {
    if (signal?.aborted) throw signal.reason;
    const slots: Slot<Output>[] = [];
    const errors: unknown[] = [];
    let running = 0;
    let unread = 0;
    let index = 0;
    /** An input that was pulled and does not run yet. */
    let held: IteratorResult<unknown> | undefined;
    /** Asks for turns, one after the other. */
    let request: StartRequest | undefined;
    /** The turn that has come. */
    let permit: Starting | undefined;
    let pulling = false;
    /** Whether `advance` is under way, or about to be called. */
    let busy = false;
    /** Whether there are no more inputs. */
    let ended = false;
    /** Whether nothing starts any more. */
    let over = false;
    /** Why it was over before the end. */
    let failure: { readonly reason: unknown } | undefined;
    let controller: AbortController | undefined;
    let wakeReader: (() => void) | undefined;
    let wakePump: (() => void) | undefined;

    const signalOf = (): AbortSignal => {
      if (controller === undefined) {
        controller = new AbortController();
        if (failure !== undefined) controller.abort(failure.reason);
      }
      return controller.signal;
    };

    /** Whether so many results are unread that nothing may start. */
    const isFull = (): boolean => {
      const { concurrency } = limiter;
      return (
        !eager && unread >= (concurrency < Number.POSITIVE_INFINITY ? concurrency : MOST_UNREAD)
      );
    };

    /** Starts nothing any more. */
    const finish = (): void => {
      over = true;
      if (request?.queue !== undefined) limiter._withdraw(request);
      permit?._started?.();
      permit?._giveBack();
      permit = undefined;
      wakePump?.();
      wakeReader?.();
    };

    const fail = (reason: unknown): void => {
      if (failure !== undefined) return;
      failure = { reason };
      controller?.abort(reason);
      finish();
    };

    /** What the function has thrown, or the source, or the limiter. */
    const lose = (error: unknown): void => {
      if (mode === 'stop') fail(error);
      else errors.push(error);
    };

    const stop = (error: unknown): void => {
      lose(error);
      finish();
    };

    /** Called when a turn has come, which may be in somebody else's step. */
    const granted = (grant: Starting | PromiseLike<never>): void => {
      if (!(grant instanceof Permit)) {
        grant.then(undefined, stop);
        return;
      }
      permit = grant as Starting;
      if (!busy) wakePump?.();
    };

    const ask = (): void => {
      if (asked.length > 0 || request === undefined) {
        const wish = asked.map(([name, each]) => [
          name,
          typeof each === 'function' ? each(held?.value as Input, index) : each,
        ]);
        request = limiter._read(Object.fromEntries(wish));
        request.runs = true;
        request.resolve = granted;
      }
      permit = limiter._turn(request) ?? permit;
    };

    const arrive = (next: IteratorResult<unknown>): void => {
      held = next;
      if (next.done) {
        ended = true;
        finish();
      } else if (early && isThenable(next.value)) {
        later(next.value, (value) => {
          held = { value };
        });
      }
    };

    /** Goes on with a value when it is there. */
    const later = <T>(promise: PromiseLike<T>, then: (value: T) => void): void => {
      pulling = true;
      Promise.resolve(promise).then(
        (value) => {
          pulling = false;
          then(value);
          advance();
        },
        (error) => {
          pulling = false;
          ended ||= held === undefined;
          stop(error);
        },
      );
    };

    const pull = (): void => {
      // A source that throws is at its end, and needs not to be closed.
      ended = true;
      const next = iterator.next();
      ended = false;
      if (isAsync) later(next as Promise<IteratorResult<unknown>>, arrive);
      else arrive(next as IteratorResult<unknown>);
    };

    const settled = (slot: Slot<Output>, turn: Starting): void => {
      running--;
      if (!ordered) slots.push(slot);
      // Nobody waits for a turn that could not be used.
      if (request?.queue !== undefined && isFull()) limiter._withdraw(request);
      if (request?.queue !== undefined && limiter._renew(turn, request)) {
        permit = turn;
      } else {
        const wasBusy = busy;
        busy = true;
        turn._giveBack();
        busy = wasBusy;
      }
      advance();
      wakeReader?.();
    };

    const run = (input: unknown, turn: Starting): void => {
      held = permit = undefined;
      const slot: Slot<Output> = { ok: undefined, value: undefined };
      if (ordered) slots.push(slot);
      running++;
      const context = new Context(index++, signalOf);
      let result: Output | PromiseLike<Output>;
      try {
        result = isThenable(input)
          ? Promise.resolve(input).then((value) => fn(value as Input, context))
          : fn(input as Input, context);
      } catch (error) {
        result = Promise.reject(error);
      }
      turn._started?.();
      Promise.resolve(result).then(
        (value) => {
          slot.ok = true;
          slot.value = value;
          unread++;
          settled(slot, turn);
        },
        (error) => {
          slot.ok = false;
          lose(error);
          settled(slot, turn);
        },
      );
    };

    /** Starts what may start, until something must happen first. */
    const advance = (): void => {
      if (busy) return;
      busy = true;
      try {
        while (!over && !pulling && (permit !== undefined || !isFull())) {
          if (held === undefined && Array.isArray(inputs) && index >= inputs.length) {
            ended = true;
            finish();
          } else if (held === undefined && (early || permit || running + unread === 0)) {
            pull();
          } else if (permit === undefined) {
            if (request?.queue === undefined) ask();
            if (permit === undefined) break;
          } else {
            run((held as IteratorResult<unknown>).value, permit);
            if (limiter.concurrency === Number.POSITIVE_INFINITY) {
              // Nothing else gives what has started the time to finish.
              Promise.resolve().then(goOn);
              return;
            }
          }
        }
      } catch (error) {
        stop(error);
      }
      busy = false;
    };

    const goOn = (): void => {
      busy = false;
      advance();
    };

    /** Goes on in the caller's context when a turn has come in somebody else's. */
    const pump = async (): Promise<void> => {
      while (!over) {
        await new Promise<void>((resolve) => {
          wakePump = resolve;
        });
        advance();
      }
    };

    const iterator = (open as () => AsyncIterator<Input> | Iterator<unknown>).call(source);
    const stopWatching = signal && giveUpOn({ signal }, fail, Error as never);
    advance();
    pump();

    /** Whether a result can be taken. Throws what it failed with: what nobody has read by then, nobody gets. */
    const isReady = (): boolean | undefined => {
      if (failure !== undefined) throw failure.reason;
      while (slots[0]?.ok === false) slots.shift();
      return slots[0]?.ok;
    };

    return {
      isReady,

      /** Waits until a result can be taken. Whether there is one. */
      async wait(): Promise<boolean> {
        while (!isReady()) {
          if (over && running === 0) {
            if (errors.length === 0) return false;
            throw new AggregateError(errors, `${errors.length} inputs failed`);
          }
          await new Promise<void>((resolve) => {
            wakeReader = resolve;
          });
        }
        return true;
      },

      take(): Output {
        const { value } = slots.shift() as Slot<Output>;
        unread--;
        advance();
        return value as Output;
      },

      async leave(): Promise<void> {
        stopWatching?.();
        const failed = failure !== undefined;
        if (!over || running > 0 || slots.length > 0) fail(cancelledError(''));
        if (!ended) {
          const closed = Promise.resolve(iterator.return?.());
          // A source that is still asked for an input need not answer any more; and what failed before counts.
          if (pulling || failed) closed.catch(() => {});
          else await closed;
        }
      },
    };
  }

  return {
    async *[Symbol.asyncIterator]() {
      const results = begin(false);
      try {
        while (results.isReady() || (await results.wait())) yield results.take();
      } finally {
        await results.leave();
      }
    },
    async toArray() {
      const all: Output[] = [];
      const results = begin(true);
      try {
        while (results.isReady() || (await results.wait())) all.push(results.take());
      } finally {
        await results.leave();
      }
      return all;
    },
  };
}
