/** The models of a semaphore, a mutex (a semaphore of 1 with an owner), and their keyed forms. */
import type {
  AcquireRequest,
  Counters,
  Guard,
  Subject,
  TryRequest,
  WaitRequest,
} from '../implementation.js';
import {
  checkNumber,
  closed,
  type ModelClock,
  ModelError,
  ModelWaiting,
  type Waiter,
} from './waiting.js';

/** A request that waits. */
export interface Asked {
  readonly permits: number;
  readonly owner: string | undefined;
}

export class ModelSemaphore extends ModelWaiting implements Subject {
  protected held = 0;
  protected queue: Waiter<Asked, Guard>[] = [];
  protected drains: Waiter<undefined, void>[] = [];
  protected end: { reason: unknown } | undefined;
  protected owner: string | undefined;

  constructor(
    protected limit: number,
    clock: ModelClock,
  ) {
    super(clock);
    checkNumber(limit, Number.MAX_SAFE_INTEGER, 0);
  }

  acquire(request: AcquireRequest): Promise<Guard> {
    const { permits = 1, owner } = request;
    try {
      checkNumber(permits, this.most);
      request.signal?.throwIfAborted();
      if (this.end) throw this.end.reason;
      this.checkOwner(owner);
    } catch (error) {
      return Promise.reject(error);
    }
    return this.queueUp(request, this.queue, { permits, owner });
  }

  tryAcquire({ permits = 1, priority = 0, owner }: TryRequest): Guard | undefined {
    checkNumber(permits, this.most);
    if (this.end) throw this.end.reason;
    this.checkOwner(owner);
    const queued = this.queue.some((waiter) => waiter.priority >= priority);
    if (queued || !this.fits(permits)) return undefined;
    return this.take(permits, owner);
  }

  drain(request: WaitRequest): Promise<void> {
    return this.queueUp(request, this.drains, undefined);
  }

  close(reason: unknown = closed()): void {
    if (this.end) return;
    this.end = { reason };
    for (const waiter of this.queue.splice(0)) waiter.refuse(reason);
    this.serve();
  }

  setLimit(limit: number): void {
    checkNumber(limit, Number.MAX_SAFE_INTEGER, 0);
    this.limit = limit;
    this.serve();
  }

  observe(): Counters {
    return {
      available: Math.max(0, this.limit - this.held),
      waiting: this.queue.length,
      queue: this.queue.flatMap((waiter) => waiter.signal ?? []),
      limit: this.limit,
      closed: this.end !== undefined,
      owner: this.owner ?? null,
    };
  }

  /**
   * The one rule: the first waiter is served as soon as it fits, and no other before it. A first waiter that can never
   * fit is refused. So is one whose signal has aborted although its listener has not run: waiters that share a signal
   * leave together.
   */
  protected override serve(): void {
    for (let head = this.queue[0]; head; head = this.queue[0]) {
      const gone = head.signal?.aborted;
      const possible = head.item.permits <= this.most;
      if (!gone && possible && !this.fits(head.item.permits)) break;
      this.queue.shift();
      if (gone) head.refuse(head.signal?.reason);
      else if (possible) head.grant(this.take(head.item.permits, head.item.owner));
      else head.refuse(new ModelError('invalid'));
    }
    if (this.held > 0 || this.queue.length > 0) return;
    for (const waiter of this.drains.splice(0)) waiter.grant(undefined);
  }

  /** Maximum number of permits of a request; unknown while the limit is 0. */
  protected get most(): number {
    return this.limit || Number.MAX_SAFE_INTEGER;
  }

  protected fits(permits: number): boolean {
    return this.held + permits <= this.limit;
  }

  protected take(permits: number, owner: string | undefined): Guard {
    this.held += permits;
    this.owner = owner;
    let released = false;
    return {
      release: () => {
        if (released) return;
        released = true;
        this.giveBack(permits);
      },
    };
  }

  protected giveBack(permits: number): void {
    this.held -= permits;
    this.owner = undefined;
    this.serve();
  }

  protected checkOwner(owner: string | undefined): void {
    if (owner !== undefined && owner === this.owner) throw new ModelError('reentrant');
  }
}

/** One semaphore per key; an entry exists only while an actor holds or waits. */
export class ModelKeyed implements Subject {
  protected readonly entries = new Map<string, ModelSemaphore>();
  /** Held exactly while there are entries, so draining it drains all keys. */
  protected readonly whole: ModelSemaphore;
  protected wholeGuard: Guard | undefined;
  protected end: { reason: unknown } | undefined;

  constructor(
    protected readonly limit: number,
    protected readonly clock: ModelClock,
    protected readonly Semaphore = ModelSemaphore,
  ) {
    checkNumber(limit, Number.MAX_SAFE_INTEGER);
    this.whole = new ModelSemaphore(1, clock);
  }

  acquire(request: AcquireRequest): Promise<Guard> {
    const acquired = this.entry(request.key).acquire(request);
    // A request that was refused at once leaves no entry; a waiter has a holder before it.
    this.forget(request.key);
    return acquired.then((guard) => this.guard(request.key, guard));
  }

  tryAcquire(request: TryRequest): Guard | undefined {
    const entry = this.entry(request.key);
    try {
      const guard = entry.tryAcquire(request);
      return guard && this.guard(request.key, guard);
    } finally {
      this.forget(request.key);
    }
  }

  drain(request: WaitRequest): Promise<void> {
    return this.whole.drain(request);
  }

  close(reason: unknown = closed()): void {
    if (this.end) return;
    this.end = { reason };
    for (const entry of this.entries.values()) entry.close(reason);
  }

  observe(key?: string): Counters {
    if (key === undefined) return { closed: this.end !== undefined, keys: this.entries.keys() };
    return this.entries.get(key)?.observe() ?? { available: this.limit, waiting: 0 };
  }

  protected entry(key = ''): ModelSemaphore {
    let entry = this.entries.get(key);
    if (!entry) {
      entry = new this.Semaphore(this.limit, this.clock);
      if (this.end) entry.close(this.end.reason);
      this.entries.set(key, entry);
      this.wholeGuard ??= this.whole.tryAcquire({});
    }
    return entry;
  }

  protected guard(key: string | undefined, guard: Guard): Guard {
    return {
      release: () => {
        guard.release();
        this.forget(key);
      },
    };
  }

  protected forget(key = ''): void {
    const { available, waiting } = this.observe(key);
    if (available === this.limit && waiting === 0) this.entries.delete(key);
    if (this.entries.size > 0) return;
    this.wholeGuard?.release();
    this.wholeGuard = undefined;
  }
}
