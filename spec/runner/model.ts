/**
 * The reference model: the primitives written to be obviously right, with plain arrays and no
 * thought of speed. It proves that the scenarios agree with each other, property tests compare
 * implementations with it, and each of its methods can be broken on purpose to prove that some
 * scenario notices.
 */
import type {
  AcquireRequest,
  Counters,
  Guard,
  Implementation,
  Subject,
  TryRequest,
  WaitRequest,
} from './implementation.js';
import type { Capability, ErrorKind, Primitive, Setup } from './scenario.js';
import { nextMacrotask } from './settle.js';

export class ModelError extends Error {
  override name = 'ModelError';

  constructor(readonly kind: ErrorKind) {
    super(kind);
  }
}

/** A clock that moves only when told. */
export class ModelClock {
  private now = 0;
  private timers: { at: number; callback: () => void }[] = [];

  get size(): number {
    return this.timers.length;
  }

  start(milliseconds: number, callback: () => void): () => void {
    const timer = { at: this.now + milliseconds, callback };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((other) => other !== timer);
    };
  }

  advance(milliseconds: number): void {
    this.now += milliseconds;
    const due = this.timers.filter((timer) => timer.at <= this.now);
    this.timers = this.timers.filter((timer) => timer.at > this.now);
    for (const timer of due.sort((one, other) => one.at - other.at)) timer.callback();
  }
}

/** Somebody who waits: settled once, by a grant or by a refusal. */
export interface Waiter {
  readonly permits: number;
  readonly priority: number;
  readonly owner: string | undefined;
  readonly signal: AbortSignal | undefined;
  grant(guard: Guard | undefined): void;
  refuse(reason: unknown): void;
}

export class ModelSemaphore implements Subject {
  protected held = 0;
  protected queue: Waiter[] = [];
  protected drains: Waiter[] = [];
  protected end: { reason: unknown } | undefined;
  protected owner: string | undefined;

  constructor(
    protected limit: number,
    protected readonly clock: ModelClock,
  ) {
    checkNumber(limit, Number.MAX_SAFE_INTEGER, 0);
  }

  acquire(request: AcquireRequest): Promise<Guard> {
    const { permits = 1, priority = 0, owner } = request;
    try {
      checkNumber(permits, this.most);
      request.signal?.throwIfAborted();
      if (this.end) throw this.end.reason;
      this.checkOwner(owner);
    } catch (error) {
      return Promise.reject(error);
    }
    return this.wait(request, this.queue, { permits, priority, owner }) as Promise<Guard>;
  }

  tryAcquire({ permits = 1, priority = 0, owner }: TryRequest): Guard | undefined {
    checkNumber(permits, this.most);
    if (this.end) throw this.end.reason;
    this.checkOwner(owner);
    const queued = this.queue.some((waiter) => waiter.priority >= priority);
    if (queued || !this.fits(permits)) return undefined;
    return this.take(permits, owner);
  }

  async drain(request: WaitRequest): Promise<void> {
    request.signal?.throwIfAborted();
    await this.wait(request, this.drains, { permits: 0, priority: 0, owner: undefined });
  }

  close(reason: unknown = new ModelError('closed')): void {
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
   * The one rule: the first in the queue is served as soon as it fits, and nobody before it. One
   * that can never fit any more is refused when it is the first, and so is one whose signal has
   * aborted and has not told it yet: those who share a signal leave together.
   */
  protected serve(): void {
    for (let head = this.queue[0]; head; head = this.queue[0]) {
      const gone = head.signal?.aborted;
      const possible = head.permits <= this.most;
      if (!gone && possible && !this.fits(head.permits)) break;
      this.queue.shift();
      if (gone) head.refuse(head.signal?.reason);
      else if (possible) head.grant(this.take(head.permits, head.owner));
      else head.refuse(new ModelError('invalid'));
    }
    if (this.held > 0 || this.queue.length > 0) return;
    for (const waiter of this.drains.splice(0)) waiter.grant(undefined);
  }

  /** How many permits may be asked for. In a pause that is not known yet. */
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

  /** Behind everybody of the same or a higher priority. */
  protected insert(queue: Waiter[], waiter: Waiter): void {
    const place = queue.findIndex((other) => other.priority < waiter.priority);
    queue.splice(place < 0 ? queue.length : place, 0, waiter);
  }

  /** Giving up: out of the queue, and whoever was blocked by it may go. */
  protected leave(queue: Waiter[], waiter: Waiter): void {
    const place = queue.indexOf(waiter);
    if (place >= 0) queue.splice(place, 1);
    this.serve();
  }

  protected wait(
    { signal, timeout }: WaitRequest,
    queue: Waiter[],
    what: Pick<Waiter, 'permits' | 'priority' | 'owner'>,
  ): Promise<Guard | undefined> {
    return new Promise((resolve, reject) => {
      let stopTimer: (() => void) | undefined;
      const settle = () => {
        stopTimer?.();
        signal?.removeEventListener('abort', onAbort);
      };
      const waiter: Waiter = {
        ...what,
        signal,
        grant: (guard) => {
          settle();
          resolve(guard);
        },
        refuse: (reason) => {
          settle();
          reject(reason);
          this.leave(queue, waiter);
        },
      };
      const onAbort = () => waiter.refuse(signal?.reason);
      this.insert(queue, waiter);
      signal?.addEventListener('abort', onAbort);
      this.serve();
      if (timeout === undefined || !queue.includes(waiter)) return;
      const onTimeout = () => waiter.refuse(new ModelError('timeout'));
      if (timeout === 0) onTimeout();
      else stopTimer = this.clock.start(timeout, onTimeout);
    });
  }
}

/** A semaphore for each key, kept only while somebody holds or waits. */
export class ModelKeyed implements Subject {
  protected readonly entries = new Map<string, ModelSemaphore>();
  /** Held exactly while there are entries, so that to drain it is to drain all. */
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
    // Whoever was refused at once leaves no entry; whoever waits has somebody before it.
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

  close(reason: unknown = new ModelError('closed')): void {
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

function checkNumber(value: number, most: number, least = 1): void {
  if (!Number.isSafeInteger(value) || value < least || value > most)
    throw new ModelError('invalid');
}

const capabilities: readonly Capability[] = [
  'permits',
  'priority',
  'timeout',
  'signal',
  'try',
  'close',
  'drain',
  'resize',
  'reason',
  'owner',
  'bounded',
  'loose-numbers',
  'release-again',
];

/** The model as an implementation; a mutant passes a class with something wrong in it. */
export function createModel(
  name = 'model',
  Semaphore: typeof ModelSemaphore = ModelSemaphore,
  Keyed: typeof ModelKeyed = ModelKeyed,
): Implementation {
  let clock = new ModelClock();
  return {
    name,
    capabilities: new Set(capabilities),
    create(primitive: Primitive, { limit = 1 }: Setup): Subject {
      clock = new ModelClock();
      if (primitive.startsWith('keyed-')) return new Keyed(limit, clock, Semaphore);
      return new Semaphore(limit, clock);
    },
    settle: nextMacrotask,
    advance: (milliseconds) => clock.advance(milliseconds),
    timers: () => clock.size,
    kindOf: (error) => (error instanceof ModelError ? error.kind : undefined),
  };
}
