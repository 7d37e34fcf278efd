/**
 * The operations of a limiter on their way to the store: those of one tick travel in one batch.
 *
 * It needs no session, so no heartbeat and no messages: a start has no owner. The link is open from the first
 * operation until the limiter is closed.
 */

import { refusalOf } from '../errors.js';
import type { Batch, Operation, Reply } from '../protocol/protocol.js';
import type { StartRequest } from '../protocol/starts.js';
import {
  BatchStream,
  type PendingOperation,
  type Sender,
  type SentBatch,
} from '../session/batches.js';
import { type BaseStore, ConnectionLostError, type Link, type LinkObserver } from '../store.js';
import type { Route } from './decisions.js';

/** The number of batches in flight: the store applies one while this process encodes and decodes the others. */
const PARTS = 4;
/** A smaller batch costs more than the overlap saves. */
const MIN_OPERATIONS = 8;

/** Minimum milliseconds without a reply after which a connection counts as half-open. */
export const MIN_PATIENCE = 1_000;

/** The name of the rates from which an operation takes first. */
function limiterOf(operation: Operation | undefined): string | undefined {
  const { groups } = operation as Partial<StartRequest>;
  return groups?.[0]?.limiter;
}

export class StartStream implements LinkObserver, Sender, Route {
  closed = false;
  readonly label: string;
  readonly continuity = 0;
  readonly #ttl: number;
  readonly #link: Link;
  readonly #stream: BatchStream;

  constructor(
    store: Pick<BaseStore, 'ttl' | 'connect'>,
    label: string,
    counter: { batches: number },
  ) {
    this.label = label;
    this.#ttl = store.ttl;
    this.#stream = new BatchStream(this, counter);
    this.#link = store.connect(this);
  }

  send(operation: PendingOperation): void {
    this.#stream.add(operation);
  }

  get run(): unknown {
    return this.#link.run;
  }

  get trouble(): unknown {
    return this.#stream.suspended;
  }

  /** Whether the store has answered everything. */
  get empty(): boolean {
    return this.#stream.empty;
  }

  checkSilence(patience: number): void {
    if (this.#stream.isSilent(Math.max(patience, MIN_PATIENCE))) this.#link.reconnect();
  }

  close(): Promise<void> {
    this.closed = true;
    for (const operation of this.#stream.take()) operation.lost();
    return this.#link.close();
  }

  // --- called by the link ---

  suspend(reason: unknown): void {
    this.#stream.suspend(reason);
    if (reason instanceof ConnectionLostError) return;
    const refusal = refusalOf(reason, this.label);
    for (const operation of this.#stream.takeUnsent()) operation.failed(refusal);
  }

  resume(): void {
    this.#stream.resume();
    this.#stream.flush();
  }

  recheck(): void {}

  receive(): void {}

  // --- called by the stream of batches ---

  ready(): boolean {
    return true;
  }

  sizeOf(operations: readonly Operation[]): number {
    // Requests that share rates take turns within a batch.
    const [first, second] = operations;
    if (second !== undefined && limiterOf(first) === limiterOf(second)) return operations.length;
    return Math.max(MIN_OPERATIONS, Math.ceil(operations.length / PARTS));
  }

  batch(operations: readonly Operation[], incarnation: number): Batch {
    return { session: '', ttl: this.#ttl, incarnation, join: 'none', secret: '', operations };
  }

  exchange(batch: Batch): Promise<Reply> {
    return this.#link.exchange(batch);
  }

  received(reply: Reply, { operations }: SentBatch): void {
    const results = reply.name === 'done' ? reply.results : [];
    for (const [i, operation] of operations.entries()) {
      const result = results[i];
      if (result === undefined) operation.lost();
      else operation.done(result, 0);
    }
  }

  unprepared(): void {
    this.#link.renew();
  }
}
