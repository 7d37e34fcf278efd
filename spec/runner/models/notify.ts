/** The models of a notification, and of a condition that the holder of a mutex waits for. */
import type { AcquireRequest, Counters, Guard, Subject, WaitRequest } from '../implementation.js';
import type { ModelSemaphore } from './semaphore.js';
import { type ModelClock, ModelError, ModelWaiting, type Waiter } from './waiting.js';

export class ModelNotify extends ModelWaiting implements Subject {
  protected queue: Waiter<undefined, void>[] = [];
  /** Whether a notification is stored. */
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

/** A waiter releases the lock, and holds it again however the wait ends. */
export class ModelCondition extends ModelWaiting implements Subject {
  protected queue: Waiter<ModelLock, void>[] = [];

  constructor(
    clock: ModelClock,
    protected readonly mutex: ModelSemaphore,
  ) {
    super(clock);
  }

  async acquire(request: AcquireRequest): Promise<Guard> {
    return new ModelLock(this.mutex, await this.mutex.acquire(request));
  }

  async wait(request: WaitRequest, held: Guard | undefined): Promise<void> {
    const lock = held as ModelLock;
    request.signal?.throwIfAborted();
    // No notification is ever available at once, so the lock is not released.
    if (request.timeout === 0) throw new ModelError('timeout');
    const notified = this.queueUp(request, this.queue, lock);
    lock.release();
    try {
      await notified;
    } finally {
      await lock.taken;
    }
  }

  notifyOne(): void {
    const first = this.queue.shift();
    // It queues for the lock from this moment on.
    first?.item.takeAgain();
    first?.grant();
  }

  notifyWaiters(): void {
    while (this.queue.length > 0) this.notifyOne();
  }

  observe(): Counters {
    const { available, waiting = 0 } = this.mutex.observe();
    return { available, waiting: waiting + this.queue.length } as Counters;
  }

  protected override leave(queue: Waiter[], waiter: Waiter): void {
    super.leave(queue, waiter);
    (waiter.item as ModelLock).takeAgain();
  }

  protected override serve(): void {}
}

/** A lock that its holder can release during a wait. */
export class ModelLock implements Guard {
  taken: Promise<void> | undefined;

  constructor(
    protected readonly mutex: ModelSemaphore,
    protected guard: Guard,
  ) {}

  release(): void {
    this.guard.release();
  }

  takeAgain(): void {
    this.taken = this.mutex.acquire({}).then((guard) => {
      this.guard = guard;
    });
  }
}
