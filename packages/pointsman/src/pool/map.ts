/** `Pool.map`: each input is a task, which is run when the queue has space for it. */

import { checkInteger } from '../sync/errors.js';
import { mapInputs } from '../sync/map.js';
import { checkRunOptions, type RunOptions, runNames } from './options.js';

export interface MapOptions extends RunOptions {
  /** Maximum number of tasks that run or whose results are unread. Default: twice the number of threads. */
  readonly concurrency?: number | undefined;
}

const names: readonly string[] = [...runNames, 'concurrency'];

/** `waitForSpace` returns `undefined` if the queue has space. */
export function map(
  run: (input: unknown, options: RunOptions) => Promise<unknown>,
  waitForSpace: (signal: AbortSignal) => Promise<void> | undefined,
  inputs: unknown,
  defaultConcurrency: number,
  options: MapOptions,
): AsyncIterableIterator<unknown> {
  checkRunOptions(options, names);
  const { concurrency = defaultConcurrency, ...runOptions } = options;
  checkInteger('concurrency', concurrency, 1, 2 ** 31 - 1);
  const runner = {
    run(
      input: unknown,
      index: number,
      signal: AbortSignal,
      started: (result: Promise<unknown>) => Promise<unknown>,
    ): Promise<unknown> {
      const space = waitForSpace(signal);
      if (space) return space.then(() => runner.run(input, index, signal, started));
      return started(run(input, { ...runOptions, signal }));
    },
    hasSpace: (running: number, unread: number) => running + unread < concurrency,
  };
  const reading = { ordered: true, errors: 'in-turn', signal: options.signal } as const;
  const results = mapInputs(runner, inputs, reading)[Symbol.asyncIterator]();
  return results as AsyncIterableIterator<unknown>;
}
