/** The errors of the pool. What a task itself throws arrives as it was thrown. */

import { ClosedError, describe } from '../sync/errors.js';

/** The pool is closed, and no other reason was given: the task was not begun, or was ended with the pool. */
export class PoolClosedError extends ClosedError {
  override readonly name = 'PoolClosedError';
}

/**
 * The thread that ran the task has ended before the task did: it exited, ran out of memory or was killed
 * with the task that it ran. Or no thread could be started at all. `cause` is what the runtime says about it.
 */
export class ThreadEndedError extends Error {
  override readonly name = 'ThreadEndedError';
  /** What the thread has exited with, where the runtime tells. */
  readonly exitCode: number | undefined;

  constructor(message: string, exitCode?: number, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** What an error says, or whatever else was thrown. Never throws. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : describe(error);
