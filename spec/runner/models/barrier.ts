/** The models of a barrier and a latch. */
import type { Counters, Subject, WaitRequest } from '../implementation.js';
import { checkNumber, type ModelClock, ModelWaiting, type Waiter } from './waiting.js';

export class ModelBarrier extends ModelWaiting implements Subject {
  protected queue: Waiter<undefined, 'leader' | undefined>[] = [];

  constructor(
    protected readonly size: number,
    clock: ModelClock,
  ) {
    super(clock);
    checkNumber(size, Number.MAX_SAFE_INTEGER);
  }

  wait(request: WaitRequest): Promise<'leader' | undefined> {
    return this.queueUp(request, this.queue, undefined);
  }

  observe(): Counters {
    return { waiting: this.queue.length };
  }

  protected override serve(): void {
    if (this.queue.length < this.size) return;
    const round = this.queue.splice(0, this.size);
    round.pop()?.grant('leader');
    for (const waiter of round) waiter.grant(undefined);
  }
}

export class ModelLatch extends ModelWaiting implements Subject {
  protected queue: Waiter<undefined, void>[] = [];

  constructor(
    protected count: number,
    clock: ModelClock,
  ) {
    super(clock);
    checkNumber(count, Number.MAX_SAFE_INTEGER, 0);
  }

  wait(request: WaitRequest): Promise<void> {
    return this.queueUp(request, this.queue, undefined);
  }

  countDown(by = 1): void {
    checkNumber(by, Number.MAX_SAFE_INTEGER, 0);
    this.count = Math.max(0, this.count - by);
    this.serve();
  }

  observe(): Counters {
    return { waiting: this.queue.length, count: this.count };
  }

  protected override serve(): void {
    if (this.count > 0) return;
    for (const waiter of this.queue.splice(0)) waiter.grant();
  }
}
