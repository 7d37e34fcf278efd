/**
 * What `limiter.map` does: the results of a function for many inputs, as fast as a limiter lets it run.
 *
 * One loop pulls: it waits until there is room for results, asks the limiter for a turn, and only then for an input,
 * which it runs without waiting for the result. The reader takes results in order or as they come.
 *
 * Invariant: an input that was pulled is run, unless all is over before its turn. After the end, whatever ended it,
 * no permit is held but by what still runs, nothing is pulled, and nothing waits.
 */

import { cancelledError, checkFunction, checkOneOf, invalid } from '../errors.js';
import { giveUpOn } from '../give-up.js';
import { checkOptions, checkSignal } from '../options.js';
import type { Permit } from '../permit.js';

/** What a limiter must offer. */
interface Turns {
  readonly concurrency: number;
  acquire(options: object): Promise<Permit>;
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
  ok?: boolean;
  value?: Output;
}

/**
 * The results of a function for many inputs, which are pulled as the limiter lets it run: what `Limiter.map` does.
 *
 * - **An input is asked for when it is its turn**, so what a rate counts is that moment. With nothing under way and
 *   nothing to read it is asked for before its turn, so that the end is found without waiting for one: one input at
 *   most is held that cannot run yet. The end of a source other than an array may cost a turn that is not used.
 * - **Results that are not read hold it back**: nothing starts while as many are ready as may run at once, or 16 where
 *   concurrency has no bound. At most as many again are under way.
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
  checkOneOf('errors', mode, ['stop', 'collect']);
  checkSignal(signal);
  checkFunction('fn', fn);
  const source = Object(inputs) as AsyncIterable<Input> & Iterable<Input | PromiseLike<Input>>;
  if (typeof (source[Symbol.asyncIterator] ?? source[Symbol.iterator]) !== 'function') {
    throw invalid('inputs', inputs, 'an iterable or an async iterable');
  }
  const asked = { weight, key, priority };
  const early = Object.values(asked).some((each) => typeof each === 'function');

  /** What to ask the limiter for. */
  const wishOf = (input: Input | undefined, index: number): object => {
    const wish: Record<string, unknown> = {};
    for (const [name, each] of Object.entries(asked)) {
      if (each !== undefined)
        wish[name] = typeof each === 'function' ? each(input as Input, index) : each;
    }
    return wish;
  };

  async function* read(): AsyncGenerator<Output, void, undefined> {
    const controller = new AbortController();
    const slots: Slot<Output>[] = [];
    const errors: unknown[] = [];
    let running = 0;
    let unread = 0;
    let turn: AbortController | undefined;
    let pulling = false;
    /** Whether there are no more inputs. */
    let ended = false;
    /** Why it was over before the end. */
    let failure: { readonly reason: unknown } | undefined;
    let wakers: (() => void)[] = [];

    const changed = () => new Promise<void>((resolve) => wakers.push(resolve));
    const change = (): void => {
      const woken = wakers;
      wakers = [];
      for (const wake of woken) wake();
    };

    const fail = (reason: unknown): void => {
      if (failure !== undefined) return;
      failure = { reason };
      controller.abort(reason);
      turn?.abort(reason);
      change();
    };

    const run = async (input: Input | PromiseLike<Input>, index: number, permit: Permit) => {
      const slot: Slot<Output> = {};
      if (ordered) slots.push(slot);
      running++;
      try {
        const isPromise = typeof (input as PromiseLike<Input> | null)?.then === 'function';
        const value = isPromise ? await input : (input as Input);
        slot.value = await fn(value, { index, signal: controller.signal });
        slot.ok = true;
        unread++;
      } catch (error) {
        slot.ok = false;
        if (mode === 'stop') fail(error);
        else errors.push(error);
      }
      permit.release();
      running--;
      if (!ordered) slots.push(slot);
      change();
    };

    const iterator = (source[Symbol.asyncIterator] ?? source[Symbol.iterator]).call(source) as
      | AsyncIterator<Input>
      | Iterator<Input | PromiseLike<Input>>;

    const pull = async () => {
      pulling = true;
      try {
        return await iterator.next();
      } catch (error) {
        // A source that throws is at its end, and needs not to be closed.
        ended = true;
        throw error;
      } finally {
        pulling = false;
      }
    };

    /** A turn, if it came before all was over. */
    const take = (wish: object): Promise<Permit | undefined> => {
      turn = new AbortController();
      return limiter.acquire({ ...wish, signal: turn.signal }).catch((reason) => {
        if (!ended) fail(reason);
        return undefined;
      });
    };

    /** Runs the next input in its turn. Whether there may be another. */
    const step = async (index: number): Promise<boolean> => {
      const { concurrency } = limiter;
      const most = Number.isFinite(concurrency) ? Math.max(concurrency, 1) : MOST_UNREAD;
      while (unread >= most && !failure) await changed();
      if (failure || (Array.isArray(inputs) && index >= inputs.length)) return false;
      let next = early ? await pull() : undefined;
      if (failure || next?.done) return false;
      const input = next && ((await next.value) as Input);
      let granted: Permit | undefined;
      const taken = take(wishOf(input, index)).then((permit) => {
        granted = permit;
        change();
      });
      // With nothing under way it looks whether there is anything to wait for.
      while (!granted && !failure && (next || running + unread > 0)) await changed();
      try {
        if (!failure) next ??= await pull();
        ended ||= next?.done === true;
      } finally {
        if (failure || ended) turn?.abort();
        await taken;
        if (failure || ended) granted?.release();
      }
      if (failure || ended || !granted || !next) return false;
      run(next.value as Input, index, granted);
      return true;
    };

    const pump = async (): Promise<void> => {
      try {
        for (let index = 0; await step(index); ) index++;
        if (!failure) ended = true;
      } catch (error) {
        if (mode === 'stop') fail(error);
        else errors.push(error);
      }
      pumping = false;
      change();
    };

    let pumping = true;
    const stop = giveUpOn({ signal }, fail, Error as never);
    try {
      pump();
      for (;;) {
        // What the reader has not got when all is over, it never gets.
        if (failure) throw (failure as { reason: unknown }).reason;
        const slot = slots[0];
        if (slot?.ok !== undefined) {
          slots.shift();
          if (!slot.ok) continue;
          unread--;
          change();
          yield slot.value as Output;
        } else if (pumping || running > 0) await changed();
        else break;
      }
      if (errors.length > 0) throw new AggregateError(errors, `${errors.length} inputs failed`);
    } finally {
      stop();
      const left = !failure && (pumping || running > 0 || slots.length > 0);
      const failed = failure !== undefined;
      if (left) fail(cancelledError(''));
      if (!ended) {
        const closed = Promise.resolve(iterator.return?.());
        // A source that is still asked for an input need not answer any more; and what failed before counts.
        if (pulling || failed) closed.catch(() => {});
        else await closed;
      }
    }
  }

  return {
    [Symbol.asyncIterator]: read,
    async toArray() {
      const results: Output[] = [];
      for await (const result of read()) results.push(result);
      return results;
    },
  };
}
