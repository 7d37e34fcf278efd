/**
 * The models of a read-write lock and its keyed form.
 *
 * Fair by phases: when a writer releases, all waiting readers are granted; when the readers have released, the first
 * writer. With `arrival`, requests are served strictly in FIFO order: then only the readers before the next writer are
 * granted.
 */
import type {
  AcquireRequest,
  Counters,
  Guard,
  Subject,
  TryRequest,
  WaitRequest,
} from '../implementation.js';
import { closed, type ModelClock, ModelGuard, ModelWaiting, type Waiter } from './waiting.js';

export type Mode = 'reading' | 'writing';

export class ModelRwLock extends ModelWaiting implements Subject {
  protected readers = 0;
  protected isWriting = false;
  protected queue: Waiter<Mode, Guard>[] = [];
  protected drains: Waiter<undefined, void>[] = [];
  protected end: { reason: unknown } | undefined;

  constructor(
    clock: ModelClock,
    protected readonly inOrder = false,
  ) {
    super(clock);
  }

  read(request: AcquireRequest): Promise<Guard> {
    return this.enter(request, 'reading');
  }

  write(request: AcquireRequest): Promise<Guard> {
    return this.enter(request, 'writing');
  }

  tryRead(_request: TryRequest): Guard | undefined {
    return this.tryToEnter('reading');
  }

  tryWrite(_request: TryRequest): Guard | undefined {
    return this.tryToEnter('writing');
  }

  /** The writer becomes a reader, and the readers whose turn it is are granted with it. */
  downgrade(_: object, held: Guard): Guard {
    (held as ModelGuard).released = true;
    const guard = new ModelGuard(() => this.giveBack('reading'));
    this.readers += 1;
    this.endOfWriting();
    return guard;
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

  observe(): Counters {
    return {
      waiting: this.queue.length,
      reading: this.readers,
      writing: Number(this.isWriting),
      closed: this.end !== undefined,
    };
  }

  protected enter(request: AcquireRequest, mode: Mode): Promise<Guard> {
    if (request.signal?.aborted) return Promise.reject(request.signal.reason);
    if (this.end) return Promise.reject(this.end.reason);
    return this.queueUp(request, this.queue, mode);
  }

  protected tryToEnter(mode: Mode): Guard | undefined {
    if (this.end) throw this.end.reason;
    const isFree = this.fits(mode) && this.queue.length === 0;
    return isFree ? this.take(mode) : undefined;
  }

  protected fits(mode: Mode): boolean {
    return !this.isWriting && (mode === 'reading' || this.readers === 0);
  }

  protected override serve(): void {
    for (let next = this.next(); next; next = this.next()) this.letIn(next);
    if (this.readers > 0 || this.isWriting || this.queue.length > 0) return;
    for (const waiter of this.drains.splice(0)) waiter.grant();
  }

  /** Grants the next waiters. While a writer waits, it is the next as soon as it fits. */
  protected next(): Waiter<Mode, Guard> | undefined {
    const writer = this.queue.find(({ item }) => item === 'writing');
    const next = this.inOrder ? this.queue[0] : (writer ?? this.queue[0]);
    return next && this.fits(next.item) ? next : undefined;
  }

  /** A writer released. By phases, all waiting readers are granted before the next writer. */
  protected endOfWriting(): void {
    this.isWriting = false;
    const readers = this.queue.filter(({ item }) => item === 'reading');
    if (!this.inOrder) for (const reader of readers) this.letIn(reader);
    this.serve();
  }

  protected letIn(waiter: Waiter<Mode, Guard>): void {
    this.queue.splice(this.queue.indexOf(waiter), 1);
    if (waiter.signal?.aborted) waiter.refuse(waiter.signal.reason);
    else waiter.grant(this.take(waiter.item));
  }

  protected take(mode: Mode): Guard {
    if (mode === 'reading') this.readers += 1;
    else this.isWriting = true;
    return new ModelGuard(() => this.giveBack(mode));
  }

  protected giveBack(mode: Mode): void {
    if (mode === 'writing') {
      this.endOfWriting();
    } else {
      this.readers -= 1;
      this.serve();
    }
  }
}

/** One lock per key; an entry exists only while an actor holds or waits. */
export class ModelKeyedRwLock implements Subject {
  protected readonly entries = new Map<string, ModelRwLock>();
  protected end: { reason: unknown } | undefined;

  constructor(protected readonly make: () => ModelRwLock) {}

  read(request: AcquireRequest): Promise<Guard> {
    return this.enter(request, (entry) => entry.read(request));
  }

  write(request: AcquireRequest): Promise<Guard> {
    return this.enter(request, (entry) => entry.write(request));
  }

  tryRead({ key = '' }: TryRequest): Guard | undefined {
    return this.tryToEnter(key, (entry) => entry.tryRead({}));
  }

  tryWrite({ key = '' }: TryRequest): Guard | undefined {
    return this.tryToEnter(key, (entry) => entry.tryWrite({}));
  }

  downgrade(options: object, held: Guard): Guard {
    const { key, entry, inner } = held as KeyedGuard;
    return this.guard(key, entry, entry.downgrade(options, inner));
  }

  close(reason: unknown = closed()): void {
    if (this.end) return;
    this.end = { reason };
    for (const entry of this.entries.values()) entry.close(reason);
  }

  observe(key?: string): Counters {
    if (key === undefined) return { closed: this.end !== undefined, keys: this.entries.keys() };
    return this.entries.get(key)?.observe() ?? { waiting: 0, reading: 0, writing: 0 };
  }

  protected entry(key: string): ModelRwLock {
    const entry = this.entries.get(key) ?? this.make();
    if (this.end) entry.close(this.end.reason);
    this.entries.set(key, entry);
    return entry;
  }

  protected async enter(
    { key = '' }: AcquireRequest,
    how: (entry: ModelRwLock) => Promise<Guard>,
  ): Promise<Guard> {
    const entry = this.entry(key);
    try {
      return this.guard(key, entry, await how(entry));
    } finally {
      this.forget(key);
    }
  }

  protected tryToEnter(
    key: string,
    how: (entry: ModelRwLock) => Guard | undefined,
  ): Guard | undefined {
    const entry = this.entry(key);
    try {
      const guard = how(entry);
      return guard && this.guard(key, entry, guard);
    } finally {
      this.forget(key);
    }
  }

  protected guard(key: string, entry: ModelRwLock, inner: Guard): KeyedGuard {
    const release = () => {
      inner.release();
      this.forget(key);
    };
    return { key, entry, inner, release };
  }

  protected forget(key: string): void {
    const { waiting, reading, writing } = this.observe(key);
    if (!waiting && !reading && !writing) this.entries.delete(key);
  }
}

interface KeyedGuard extends Guard {
  readonly key: string;
  readonly entry: ModelRwLock;
  readonly inner: Guard;
}
