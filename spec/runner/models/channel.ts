/** The model of a channel. */
import type { Counters, ReceiveRequest, SendRequest, Subject } from '../implementation.js';
import type { Setup, Value } from '../scenario.js';
import {
  checkNumber,
  closed,
  type ModelClock,
  ModelError,
  ModelWaiting,
  type Waiter,
} from './waiting.js';

export class ModelChannel extends ModelWaiting implements Subject {
  protected buffer: Value[] = [];
  /** The waiting senders, with their values. */
  protected senders: Waiter<Value, void>[] = [];
  protected receivers: Waiter<undefined, unknown>[] = [];
  protected end: { reason: unknown } | undefined;
  protected readonly capacity: number;

  constructor(
    { capacity = 0 }: Setup,
    clock: ModelClock,
    protected readonly whenFull: Setup['when-full'] = 'wait',
  ) {
    super(clock);
    if (capacity !== 'unbounded') checkNumber(capacity, Number.MAX_SAFE_INTEGER, 0);
    if (whenFull === 'drop-oldest' && capacity === 0) throw new ModelError('invalid');
    this.capacity = capacity === 'unbounded' ? Number.POSITIVE_INFINITY : capacity;
  }

  send(request: SendRequest): Promise<void> {
    if (request.signal?.aborted) return Promise.reject(request.signal.reason);
    if (this.end) return Promise.reject(this.end.reason);
    if (!this.hasRoom() && this.whenFull === 'reject') {
      // A timeout of 0 takes precedence, as everywhere.
      return Promise.reject(new ModelError(request.timeout === 0 ? 'timeout' : 'full'));
    }
    if (!this.hasRoom() && this.whenFull === 'drop-oldest') this.buffer.shift();
    return this.queueUp(request, this.senders, request.value);
  }

  trySend({ value }: SendRequest): boolean {
    if (this.end) throw this.end.reason;
    if (!this.hasRoom() && this.whenFull !== 'drop-oldest') return false;
    void this.send({ value });
    return true;
  }

  receive(request: ReceiveRequest): Promise<unknown> {
    return this.take(request);
  }

  async receiveMany(request: ReceiveRequest): Promise<unknown> {
    const { max = 1 } = request;
    checkNumber(max, Number.MAX_SAFE_INTEGER);
    request.signal?.throwIfAborted();
    if (this.hasValues()) return this.nextMany(max);
    // With the value that it waited for, it takes those of the same turn.
    const first = this.take(request);
    return first.then((value) => [value, ...this.nextMany(max - 1)]);
  }

  tryReceive(): unknown {
    if (!this.hasValues()) {
      if (this.end) throw this.end.reason;
      return undefined;
    }
    const value = this.next();
    this.serve();
    return value;
  }

  close(reason: unknown = closed()): void {
    if (this.end) return;
    this.end = { reason };
    for (const waiter of this.senders.splice(0)) waiter.refuse(reason);
    for (const waiter of this.receivers.splice(0)) waiter.refuse(reason);
  }

  discard(reason?: unknown): void {
    // While values were buffered, no receiver has seen the earlier end.
    if (this.buffer.length > 0) this.end = undefined;
    this.buffer = [];
    this.close(reason);
  }

  observe(): Counters {
    return {
      waiting: this.senders.length + this.receivers.length,
      length: this.buffer.length,
      closed: this.end !== undefined,
    };
  }

  /** Returns whether a value can be sent now, to the buffer or to a waiting receiver. */
  protected hasRoom(): boolean {
    return this.buffer.length < this.capacity || this.receivers.length > 0;
  }

  protected hasValues(): boolean {
    return this.buffer.length + this.senders.length > 0;
  }

  protected take(request: ReceiveRequest): Promise<unknown> {
    if (request.signal?.aborted) return Promise.reject(request.signal.reason);
    if (this.end && !this.hasValues()) return Promise.reject(this.end.reason);
    return this.queueUp(request, this.receivers, undefined);
  }

  /** Removes the oldest value: buffered values precede those of waiting senders. */
  protected next(): Value | undefined {
    if (this.buffer.length > 0) return this.buffer.shift();
    const sender = this.senders.shift();
    sender?.grant();
    return sender?.item;
  }

  /** Removes all available values, at most `max`. */
  protected nextMany(max: number): unknown[] {
    const values: unknown[] = [];
    while (values.length < max && this.hasValues()) values.push(this.next());
    this.fill();
    return values;
  }

  /** Serves receivers in FIFO order, and senders in theirs. */
  protected override serve(): void {
    while (this.receivers.length > 0 && this.hasValues()) {
      this.receivers.shift()?.grant(this.next());
      this.fill();
    }
    this.fill();
  }

  protected fill(): void {
    while (this.senders.length > 0 && this.buffer.length < this.capacity) {
      const sender = this.senders.shift() as Waiter<Value, void>;
      this.buffer.push(sender.item);
      sender.grant();
    }
  }
}
