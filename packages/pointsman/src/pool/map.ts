/**
 * Results of a task for each input, in order, with so many under way at most.
 *
 * Invariant: whatever ends it, a failure or a reader who leaves, ends what is under way and the inputs.
 */

import { checkInteger, invalid, timedOut } from '../sync/errors.js';
import { giveUpOn } from '../sync/wait/give-up.js';
import { checkRunOptions, type RunOptions, runNames } from './options.js';

export interface MapOptions extends RunOptions {
  /** Tasks that are under way, or whose results were not read. Default: twice as many as threads. */
  readonly concurrency?: number | undefined;
}

const names: ReadonlySet<string> = new Set([...runNames, 'concurrency']);

/**
 * `run` runs a task for an input. `space` waits until the queue has space for one, or returns undefined if it has.
 */
export function mapOver(
  run: (input: unknown, signal: AbortSignal) => Promise<unknown>,
  space: (signal: AbortSignal) => Promise<void> | undefined,
  inputs: Iterable<unknown> | AsyncIterable<unknown>,
  defaultConcurrency: number,
  options: MapOptions,
): AsyncIterableIterator<unknown> {
  checkRunOptions(options, names);
  const { concurrency = defaultConcurrency, signal } = options;
  checkInteger('concurrency', concurrency, 1, 2 ** 31 - 1);
  const source = inputs as Partial<Iterable<unknown> & AsyncIterable<unknown>>;
  const iterate = source?.[Symbol.asyncIterator] ?? source?.[Symbol.iterator];
  if (typeof iterate !== 'function') throw invalid('inputs', inputs, 'something to iterate over');
  return results(run, space, () => Reflect.apply(iterate, inputs, []), concurrency, signal);
}

/** A task for an input, or what was thrown instead of one. */
interface Entry {
  state: 'under way' | 'done' | 'failed';
  value: unknown;
}

async function* results(
  run: (input: unknown, signal: AbortSignal) => Promise<unknown>,
  space: (signal: AbortSignal) => Promise<void> | undefined,
  iterate: () => Iterator<unknown> | AsyncIterator<unknown>,
  concurrency: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<unknown> {
  const ending = new AbortController();
  const entries: Entry[] = [];
  let exhausted = false;
  let isComplete = false;
  let taking = false;
  let wake = () => {};
  const abort = (reason: unknown) => {
    ending.abort(reason);
    wake();
  };
  const settle = (entry: Entry, state: Entry['state'], value: unknown) => {
    entry.state = state;
    entry.value = value;
    wake();
  };
  const begin = (input: unknown) => {
    const entry: Entry = { state: 'under way', value: undefined };
    entries.push(entry);
    run(input, ending.signal).then(
      (value) => settle(entry, 'done', value),
      (error) => settle(entry, 'failed', error),
    );
  };
  const iterator = iterate();
  // Beside the reader, who need not wait for an input to have a result.
  const take = async () => {
    if (taking) return;
    taking = true;
    try {
      while (!exhausted && entries.length < concurrency && !ending.signal.aborted) {
        const input = await iterator.next();
        if (input.done) {
          exhausted = true;
          break;
        }
        let wait = space(ending.signal);
        while (wait) {
          const mayHaveSpace = await wait.then(
            () => true,
            () => false,
          );
          // If the wait for space is rejected, running the task rejects with the reason.
          wait = mayHaveSpace ? space(ending.signal) : undefined;
        }
        if (!ending.signal.aborted) begin(input.value);
      }
    } catch (error) {
      exhausted = true;
      entries.push({ state: 'failed', value: error });
    }
    taking = false;
    wake();
  };
  if (signal?.aborted) abort(signal.reason);
  const stopWatching = giveUpOn({ signal }, abort, timedOut);
  try {
    for (;;) {
      ending.signal.throwIfAborted();
      void take();
      const [first] = entries;
      if (first === undefined && exhausted) {
        isComplete = true;
        return;
      }
      if (first === undefined || first.state === 'under way') {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      entries.shift();
      if (first.state === 'failed') throw first.value;
      yield first.value;
    }
  } finally {
    stopWatching();
    // Results that are iterated over may still be.
    if (!isComplete) ending.abort();
    if (!exhausted) {
      const left = Promise.resolve(iterator.return?.());
      // One that is being asked comes to it later.
      if (taking) left.catch(() => {});
      else await left;
    }
  }
}
