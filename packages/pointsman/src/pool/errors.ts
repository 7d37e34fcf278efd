/** The errors of the pool. An error that a task throws keeps its class, message and properties. */

import { ClosedError, describe } from '../sync/errors.js';

/** Rejects tasks of a pool that was closed or terminated without a reason. */
export class PoolClosedError extends ClosedError {
  override readonly name = 'PoolClosedError';
}

/**
 * The thread ended before its task: it exited, ran out of memory, or was terminated. Also the error of all tasks if no
 * thread could be started. `cause` is the error that the runtime reported.
 */
export class ThreadEndedError extends Error {
  override readonly name = 'ThreadEndedError';
  /** The exit code of the thread, in runtimes that report it. */
  readonly exitCode: number | undefined;

  constructor(message: string, exitCode?: number, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** Returns the message of an error, or a description of any other thrown value. Never throws. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : describe(error);
