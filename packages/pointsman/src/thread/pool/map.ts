/**
 * Results of a task for each input, in order, with so many under way at most.
 *
 * Invariant: whatever ends it, a failure or a reader who leaves, ends what is under way and the inputs.
 */

import { checkInteger, invalid } from '../../task/errors.js';
import type { RunOptions } from './options.js';

export interface MapOptions extends RunOptions {
  /** Tasks that are under way, or whose results were not read. Default: twice as many as threads. */
  readonly concurrency?: number | undefined;
}

export function mapOver(
  run: (input: unknown, signal: AbortSignal) => Promise<unknown>,
  inputs: Iterable<unknown> | AsyncIterable<unknown>,
  defaultConcurrency: number,
  { concurrency = defaultConcurrency, signal }: MapOptions,
): AsyncIterableIterator<unknown> {
  checkInteger('concurrency', concurrency, 1, 2 ** 31 - 1);
  const source = inputs as Partial<Iterable<unknown> & AsyncIterable<unknown>>;
  const iterate = source?.[Symbol.asyncIterator] ?? source?.[Symbol.iterator];
  if (typeof iterate !== 'function') throw invalid('inputs', inputs, 'something to iterate over');
  return results(run, () => Reflect.apply(iterate, inputs, []), concurrency, signal);
}

async function* results(
  run: (input: unknown, signal: AbortSignal) => Promise<unknown>,
  iterate: () => Iterator<unknown> | AsyncIterator<unknown>,
  concurrency: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<unknown> {
  const ending = new AbortController();
  const abort = () => ending.abort(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort);
  const iterator = iterate();
  const underWay: Promise<unknown>[] = [];
  let exhausted = false;
  try {
    for (;;) {
      while (!exhausted && underWay.length < concurrency) {
        ending.signal.throwIfAborted();
        const input = await iterator.next();
        if (input.done) {
          exhausted = true;
          break;
        }
        const result = run(input.value, ending.signal);
        // It is heard of in its turn, or not any more.
        result.catch(() => {});
        underWay.push(result);
      }
      const next = underWay.shift();
      if (next === undefined) return;
      yield await next;
    }
  } finally {
    signal?.removeEventListener('abort', abort);
    ending.abort();
    if (!exhausted) await iterator.return?.();
  }
}
