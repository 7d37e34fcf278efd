/** The models of a broadcast and a watch. */
import type { Counters, Guard, SendRequest, Subject, WaitRequest } from '../implementation.js';
import type { Value } from '../scenario.js';
import {
  checkNumber,
  closed,
  type ModelClock,
  ModelError,
  ModelGuard,
  ModelWaiting,
  type Waiter,
} from './waiting.js';

/** Buffers for each subscriber the values that it has not received, at most the capacity. */
export class ModelBroadcast implements Subject {
  readonly subscribers = new Set<ModelSubscriber>();
  end: { reason: unknown } | undefined;

  constructor(
    readonly capacity: number,
    readonly clock: ModelClock,
  ) {
    checkNumber(capacity, Number.MAX_SAFE_INTEGER);
  }

  async send({ value }: SendRequest): Promise<void> {
    if (this.end) throw this.end.reason;
    for (const subscriber of this.subscribers) subscriber.push(value);
  }

  subscribe(): Guard {
    return new ModelSubscriber(this);
  }

  receive(request: WaitRequest, held: Guard | undefined): Promise<unknown> {
    return (held as ModelSubscriber).receive(request);
  }

  tryReceive(_: object, held: Guard | undefined): unknown {
    return (held as ModelSubscriber).tryReceive();
  }

  close(reason: unknown = closed()): void {
    if (this.end) return;
    this.end = { reason };
    for (const subscriber of this.subscribers) subscriber.close();
  }

  observe(): Counters {
    return { subscribed: this.subscribers.size, closed: this.end !== undefined };
  }
}

export class ModelSubscriber extends ModelWaiting implements Guard {
  readonly kept: Value[] = [];
  missed = 0;
  protected queue: Waiter<undefined, Value>[] = [];

  constructor(protected readonly broadcast: ModelBroadcast) {
    super(broadcast.clock);
    broadcast.subscribers.add(this);
  }

  push(value: Value): void {
    this.kept.push(value);
    this.serve();
    if (this.kept.length <= this.broadcast.capacity) return;
    this.kept.shift();
    this.missed += 1;
  }

  async receive(request: WaitRequest): Promise<Value> {
    request.signal?.throwIfAborted();
    this.checkMissed();
    if (this.kept.length === 0 && this.broadcast.end) throw this.broadcast.end.reason;
    return this.queueUp(request, this.queue, undefined);
  }

  tryReceive(): Value | undefined {
    this.checkMissed();
    if (this.kept.length === 0 && this.broadcast.end) throw this.broadcast.end.reason;
    return this.kept.shift();
  }

  close(): void {
    for (const waiter of this.queue.splice(0)) waiter.refuse(this.broadcast.end?.reason);
  }

  release(): void {
    this.broadcast.subscribers.delete(this);
  }

  /** Refuses a lagging receiver once. */
  protected checkMissed(): void {
    const { missed } = this;
    this.missed = 0;
    if (missed > 0) throw new ModelError({ lagged: missed });
  }

  protected override serve(): void {
    if (this.kept.length > 0) this.queue.shift()?.grant(this.kept.shift() as Value);
  }
}

/** Stores the latest value, and for each subscriber which value it has seen. */
export class ModelWatch extends ModelWaiting implements Subject {
  protected queue: Waiter<Seen, Value>[] = [];
  protected readonly subscribers = new Set<Guard>();
  protected version = 0;
  protected end: { reason: unknown } | undefined;

  constructor(
    protected value: Value,
    clock: ModelClock,
  ) {
    super(clock);
  }

  async send({ value }: SendRequest): Promise<void> {
    if (this.end) throw this.end.reason;
    this.value = value;
    this.version += 1;
    this.serve();
  }

  subscribe(): Guard {
    const guard = new ModelGuard(() => this.subscribers.delete(guard));
    this.subscribers.add(guard);
    return Object.assign(guard, { version: this.version });
  }

  async changed(request: WaitRequest, held: Guard): Promise<Value> {
    const seen = held as unknown as Seen;
    request.signal?.throwIfAborted();
    if (this.end && !this.isNew(seen)) throw this.end.reason;
    return this.queueUp(request, this.queue, seen);
  }

  close(reason: unknown = closed()): void {
    if (this.end) return;
    this.end = { reason };
    for (const waiter of this.queue.splice(0)) waiter.refuse(reason);
  }

  observe(): Counters {
    const { value, subscribers, queue, end } = this;
    return { value, subscribed: subscribers.size, waiting: queue.length, closed: !!end };
  }

  protected isNew(seen: Seen): boolean {
    return seen.version < this.version;
  }

  protected override serve(): void {
    for (const waiter of this.queue.filter(({ item }) => this.isNew(item))) {
      this.queue.splice(this.queue.indexOf(waiter), 1);
      waiter.item.version = this.version;
      waiter.grant(this.value);
    }
  }
}

/** The value that a subscriber has seen. */
export interface Seen {
  version: number;
}
