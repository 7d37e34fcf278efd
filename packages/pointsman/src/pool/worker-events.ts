/**
 * What a host hears of a worker, whatever runtime it is of: what it says, and its end.
 *
 * Invariant: where a worker tells of its exit, an error is only the reason of that. Elsewhere it is all that tells.
 */

import { listen, type Port } from '../transport/platform.js';
import type { PoolWorker } from './platform.js';
import * as protocol from './protocol.js';

export interface WorkerListener {
  received(message: unknown): void;
  /** Something that it has said cannot be read. */
  unreadable(cause: unknown): void;
  /** It has failed, which may be all that is ever heard of it. */
  failed(error: Error): void;
  /** It has ended, for this reason if there is one. */
  ended(exitCode: number, cause: unknown): void;
}

/** Hears worker `id`, which speaks by `port` or by its own; returns how to stop. */
export function hear(
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
  // A browser's worker that computes for long is heard by a port of its own only.
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
