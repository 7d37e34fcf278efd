/**
 * The stream of batches that keeps a session and the server in step.
 *
 * Invariant: operations reach the server in the order in which they were asked for. One without an
 * answer is sent again after a loss, before all that came later, under a higher incarnation, so that its
 * first copy is refused if it comes late.
 *
 * Operations asked for in one tick travel in one batch.
 */

import { nextMicrotask } from '../../sync/wait/give-up.js';
import { ConnectionLostError } from '../connection/connection.js';
import { type RedisLockError, refusalOf } from '../errors.js';
import type { Handler } from '../handlers/handler.js';
import { type Moment, now } from '../lease.js';
import type { Metrics } from '../metrics.js';
import type { Batch, Operation, Reply, Result } from '../protocol/protocol.js';

/** An operation on its way. One of its functions is called once, unless it has nothing to ask for. */
export interface PendingOperation {
  /** Undefined if there is nothing left to ask for. */
  operation(): Operation | undefined;
  done(result: Result, alarmed: number): void;
  /** The server has refused the batch. */
  failed(error: RedisLockError): void;
  /** The session has ended before there was an answer. */
  lost(): void;
}

export interface SentBatch {
  readonly operations: readonly PendingOperation[];
  readonly at: Moment;
  /** How this process would hear of a loss of the state, as `Connections.hears` says it. */
  readonly alarmed: number;
}

/** Whose batches these are. */
export interface Sender {
  /** What messages of errors begin with. */
  readonly label: string;
  readonly handler: Handler;
  readonly alarmed: number;
  /** Whether batches may be sent. If not, it calls `flush` when they may. */
  ready(): boolean;
  /** A batch of this session; `begun` if one without an answer has begun it. */
  batch(operations: readonly Operation[], incarnation: number, begun: boolean): Batch;
  received(reply: Reply, batch: SentBatch): void;
  /** The server has forgotten what the handler had prepared. */
  unprepared(): void;
}

/** Operations in a batch: the server does nothing else meanwhile. */
const MOST_OPERATIONS = 256;

export class BatchStream {
  /** Why nothing can be sent; undefined if it can. */
  suspended: unknown = new ConnectionLostError('not connected yet');
  readonly #sender: Sender;
  readonly #metrics: Metrics;
  #unsent: PendingOperation[] = [];
  /** Sent and not answered, in order. */
  #sent: SentBatch[] = [];
  #incarnation = 0;
  #scheduled = false;

  constructor(sender: Sender, metrics: Metrics) {
    this.#sender = sender;
    this.#metrics = metrics;
  }

  /** Whether everything has been answered. */
  get empty(): boolean {
    return this.#sent.length + this.#unsent.length === 0;
  }

  /** When the first batch without an answer was sent. */
  get unansweredSince(): Moment | undefined {
    return this.#sent[0]?.at;
  }

  add(operation: PendingOperation): void {
    this.#unsent.push(operation);
    if (this.suspended !== undefined || this.#scheduled) return;
    this.#scheduled = true;
    nextMicrotask.then(() => {
      this.#scheduled = false;
      this.flush();
    });
  }

  suspend(reason: unknown): void {
    this.suspended = reason;
    this.#unsent = this.take();
  }

  /** Another connection: what the last one delivers late is stale. */
  resume(): void {
    this.suspended = undefined;
    this.#incarnation++;
  }

  /** Takes out all that has no answer, in order. */
  take(): PendingOperation[] {
    const operations = this.#sent.flatMap((batch) => batch.operations);
    this.#sent = [];
    return [...operations, ...this.takeUnsent()];
  }

  takeUnsent(): PendingOperation[] {
    const operations = this.#unsent;
    this.#unsent = [];
    return operations;
  }

  flush(): void {
    if (this.suspended !== undefined || !this.#sender.ready()) return;
    while (this.#unsent.length > 0) {
      const pending: PendingOperation[] = [];
      const operations: Operation[] = [];
      for (const each of this.#unsent.splice(0, MOST_OPERATIONS)) {
        const operation = each.operation();
        if (operation === undefined) continue;
        pending.push(each);
        operations.push(operation);
      }
      if (operations.length > 0) this.#exchange(pending, operations);
    }
  }

  #exchange(pending: readonly PendingOperation[], operations: readonly Operation[]): void {
    // What has no answer yet has begun the session, and may have been granted something by now.
    const batch = this.#sender.batch(operations, this.#incarnation, this.#sent.length > 0);
    const sent = { operations: pending, at: now(), alarmed: this.#sender.alarmed };
    this.#sent.push(sent);
    this.#metrics.batches++;
    this.#sender.handler.exchange(batch).then(
      (reply) => {
        if (this.#answered(sent)) this.#sender.received(reply, sent);
      },
      (error) => {
        if (!this.#sent.includes(sent)) return;
        if (error instanceof ConnectionLostError) {
          // Not the connection itself: the server has forgotten what was prepared.
          if (error.cause !== undefined) this.#sender.unprepared();
          return;
        }
        this.#answered(sent);
        const refusal = refusalOf(error, this.#sender.label);
        for (const operation of pending) operation.failed(refusal);
      },
    );
  }

  #answered(sent: SentBatch): boolean {
    const index = this.#sent.indexOf(sent);
    if (index >= 0) this.#sent.splice(index, 1);
    return index >= 0;
  }
}
