/**
 * The stream of batches that keeps a session and the server in step. Operations of one tick travel in one batch.
 *
 * Invariant: operations reach the server in the order of the calls. After a lost connection, an operation without a
 * reply is sent again before all later ones. The higher incarnation makes the server refuse a late first copy.
 * Replies are applied in order, except that one which ends the session goes before those that arrived with it.
 */

import { nextMicrotask } from '../../sync/wait/give-up.js';
import { refusalOf, type StoreError } from '../errors.js';
import type { Metrics } from '../metrics.js';
import type { Batch, Operation, Reply, Result } from '../protocol/protocol.js';
import { ConnectionLostError } from '../store.js';
import { type Moment, now } from './time.js';

/** An operation without a reply. One of `done`, `failed` and `lost` is called once, unless `operation` returns undefined. */
export interface PendingOperation {
  /** Called for each batch that carries it. Undefined if it is no longer needed. */
  operation(): Operation | undefined;
  done(result: Result, continuity: number): void;
  /** The server has refused the batch. */
  failed(error: StoreError): void;
  /** The session has ended before the reply. */
  lost(): void;
}

export interface SentBatch {
  readonly operations: readonly PendingOperation[];
  readonly at: Moment;
  readonly continuity: number;
}

export interface Sender {
  readonly label: string;
  readonly continuity: number;
  /** Whether batches may be sent. If not, the session calls `flush` when they may. */
  ready(): boolean;
  /** Returns the number of operations in each batch, if these operations should be split. */
  sizeOf?(operations: readonly Operation[]): number;
  /** Creates a batch; `begun` if an earlier one without a reply may have begun the session. */
  batch(operations: readonly Operation[], incarnation: number, begun: boolean): Batch;
  exchange(batch: Batch): Promise<Reply>;
  received(reply: Reply, batch: SentBatch): void;
  /** The server has forgotten what had been prepared. */
  unprepared(): void;
}

/** The maximum number of operations in a batch, which the server processes without interruption. */
const MAX_OPERATIONS = 256;

export class BatchStream {
  /** Why nothing can be sent; undefined if batches can be sent. */
  suspended: unknown = new ConnectionLostError('not connected yet');
  readonly #sender: Sender;
  readonly #metrics: Pick<Metrics, 'batches'>;
  #unsent: PendingOperation[] = [];
  /** Batches without a reply, in order. */
  #sent: SentBatch[] = [];
  #incarnation = 0;
  /**
   * Whether an earlier batch without a reply has begun the session, also on a lost connection. If the server has ended it
   * since, it must not begin again under the same id: a late message may still grant one of its requests.
   */
  #begun = false;
  #scheduled = false;

  constructor(sender: Sender, metrics: Pick<Metrics, 'batches'>) {
    this.#sender = sender;
    this.#metrics = metrics;
  }

  get empty(): boolean {
    return this.#sent.length + this.#unsent.length === 0;
  }

  /** Whether a batch has had no reply for so long, in milliseconds, that the connection may be half-open. */
  isSilent(patience: number): boolean {
    const [first] = this.#sent;
    return first !== undefined && now().monotonic - first.at.monotonic > patience;
  }

  add(operation: PendingOperation): void {
    this.#unsent.push(operation);
    const { suspended: cause } = this;
    if (cause !== undefined && !(cause instanceof ConnectionLostError)) {
      // The server refused to be used, but may accept now.
      this.suspended = new ConnectionLostError('trying again', { cause });
      this.#sender.unprepared();
    }
    if (this.#scheduled) return;
    this.#scheduled = true;
    nextMicrotask.then(() => {
      this.#scheduled = false;
      this.flush();
    });
  }

  suspend(reason: unknown): void {
    this.suspended = reason;
    this.#unsent = this.take(this.#begun);
  }

  /** Continues on another connection. Batches that arrive late from the old one are stale. */
  resume(): void {
    this.suspended = undefined;
    this.#incarnation++;
  }

  /** Removes and returns all operations without a reply, in order. `begun`: of the session that sends them again. */
  take(begun = false): PendingOperation[] {
    const operations = this.#sent.flatMap((batch) => batch.operations);
    this.#sent = [];
    this.#begun = begun;
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
      for (const each of this.#unsent.splice(0, MAX_OPERATIONS)) {
        const operation = each.operation();
        if (operation === undefined) continue;
        pending.push(each);
        operations.push(operation);
      }
      const size = this.#sender.sizeOf?.(operations) ?? MAX_OPERATIONS;
      for (let i = 0; i < operations.length; i += size) {
        this.#exchange(pending.slice(i, i + size), operations.slice(i, i + size));
      }
    }
  }

  #exchange(pending: readonly PendingOperation[], operations: readonly Operation[]): void {
    const batch = this.#sender.batch(operations, this.#incarnation, this.#begun);
    this.#begun = true;
    const sent = { operations: pending, at: now(), continuity: this.#sender.continuity };
    this.#sent.push(sent);
    this.#metrics.batches++;
    this.#sender.exchange(batch).then(
      async (reply) => {
        // A later reply that arrived with this one may end the session. Then the grants of this one reach no caller.
        if (reply.name !== 'lost') await nextMicrotask;
        if (this.#answered(sent)) this.#sender.received(reply, sent);
      },
      (error) => {
        if (!this.#sent.includes(sent)) return;
        if (error instanceof ConnectionLostError) {
          // With a cause, the connection works, but the server has forgotten what was prepared.
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
    if (index < 0) return false;
    this.#sent.splice(index, 1);
    this.#begun = this.#sent.length > 0;
    return true;
  }
}
