/** A notification, and a condition that the holder of a mutex waits for. */
import type { AcquireRequest, Counters, Guard, Subject, WaitRequest } from '../implementation.js';
import type { ModelSemaphore } from './semaphore.js';
import { type ModelClock, ModelWaiting, type Waiter } from './waiting.js';

export class ModelNotify extends ModelWaiting implements Subject {
  protected queue: Waiter<undefined, void>[] = [];
  /** One notification that found nobody. */
  protected isKept = false;

  notified(request: WaitRequest): Promise<void> {
    return this.queueUp(request, this.queue, undefined);
  }

  notifyOne(): void {
    this.isKept = true;
    this.serve();
  }

  notifyWaiters(): void {
    for (const waiter of this.queue.splice(0)) waiter.grant();
  }

  observe(): Counters {
    return { waiting: this.queue.length };
  }

  protected override serve(): void {
    if (!this.isKept) return;
    const first = this.queue.shift();
    if (!first) return;
    this.isKept = false;
    first.grant();
  }
}

/** Whoever waits gives the lock up, and has it again whatever becomes of the wait. */
export class ModelCondition extends ModelWaiting implements Subject {
  protected queue: Waiter<undefined, void>[] = [];

  constructor(
    clock: ModelClock,
    protected readonly mutex: ModelSemaphore,
  ) {
    super(clock);
  }

  async acquire(request: AcquireRequest): Promise<Guard> {
    let guard = await this.mutex.acquire(request);
    return {
      release: () => guard.release(),
      giveUp: () => guard.release(),
      takeAgain: async () => {
        guard = await this.mutex.acquire({});
      },
    } as Lock;
  }

  async wait(request: WaitRequest, held: Guard | undefined): Promise<void> {
    const lock = held as Lock;
    request.signal?.throwIfAborted();
    const notified = this.queueUp(request, this.queue, undefined);
    lock.giveUp();
    try {
      await notified;
    } finally {
      await lock.takeAgain();
    }
  }

  notifyOne(): void {
    this.queue.shift()?.grant();
  }

  notifyWaiters(): void {
    for (const waiter of this.queue.splice(0)) waiter.grant();
  }

  observe(): Counters {
    const { available, waiting = 0 } = this.mutex.observe();
    return { available, waiting: waiting + this.queue.length } as Counters;
  }

  protected override serve(): void {}
}

interface Lock extends Guard {
  giveUp(): void;
  takeAgain(): Promise<void>;
}
