/**
 * The events of a worker, with one interface for all runtimes: its messages, its errors and its end.
 *
 * Invariant: in a runtime with an `exit` event, an `error` event is only the cause of the exit. In others, an `error`
 * event is the only sign of the end.
 */

import { listen, type Port } from '../transport/platform.js';
import type { PoolWorker } from './platform.js';
import * as protocol from './protocol.js';

export interface WorkerListener {
  received(message: unknown): void;
  /** A message cannot be read. */
  unreadable(cause: unknown): void;
  /** The worker reported an error, which may be its last event. */
  failed(error: Error): void;
  /** The worker has exited; `cause` is the error that ended it, if any. */
  ended(exitCode: number, cause: unknown): void;
}

/** Listens to worker `id`, which sends through `port` or its own port. Returns a function that stops. */
export function listenToWorker(
  worker: PoolWorker,
  id: number,
  port: Port,
  listener: WorkerListener,
): () => void {
  const { received, unreadable, failed, ended } = listener;
  const stop = listen(port, received, undefined, unreadable);
  port.unref?.();
  if (worker.on) {
    let cause: unknown;
    worker.on('error', ((error: unknown) => {
      cause = error;
    }) as never);
    worker.on('exit', ((code: number) => ended(code, cause)) as never);
    return stop;
  }
  // In browsers, batches arrive through the worker's own port: see `serve.ts`.
  const unwrap = (data: unknown) => {
    if (Array.isArray(data) && data[0] === protocol.BATCH && data[1] === id) received(data[2]);
  };
  const stopOwn = listen(worker, unwrap, undefined, unreadable);
  worker.addEventListener?.('error', ((event: { message?: string }) =>
    failed(new Error(event.message ?? 'it was not found'))) as never);
  return () => {
    stop();
    stopOwn();
  };
}
