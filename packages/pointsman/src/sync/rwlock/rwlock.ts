/**
 * A readers-writer lock, fair by phases: readers enter together, writers one at a time, and where both wait they
 * alternate (Brandenburg and Anderson, "Spin-Based Reader-Writer Synchronization for Multiprocessor Real-Time Systems",
 * Real-Time Systems 46, 2010).
 *
 * Invariant, whenever none of this code is running: a reader waits only while a writer holds or waits; a writer waits
 * only while the lock is held. So a new reader checks only for writers, a new writer only whether the lock is free.
 *
 * A writer leaves as a reader: it admits the waiting readers and then leaves as one of them. A downgrade omits the
 * leaving, so no other writer can enter in between.
 */

import { Drainable } from '../closable.js';
import { causeOf, checkFunction, detached, fullError } from '../errors.js';
import { type WaitOptions, waitNames } from '../options.js';
import { HandedPermit, Permit, runWith } from '../semaphore/permit.js';
import { winContest } from '../wait/give-up.js';
import { PriorityQueue, readRequest } from '../wait/priority-queue.js';
import { type QueueOptions, readQueueOptions, WaitQueue } from '../wait/queue.js';

/** Options for {@link RwLock.write}. */
export interface WriteOptions extends WaitOptions {
  /**
   * Orders the waiting writers: higher ones first, FIFO within a priority. Any finite number. Default 0. It has no effect
   * on readers, whose turn comes after each writer.
   */
  readonly priority?: number | undefined;
}

const writeNames: readonly string[] = [...waitNames, 'priority'];

/** The write lock, as {@link RwLock.write} grants it. */
export class WritePermit extends Permit {
  /** @internal */
  declare _issuer: RwLock | undefined;

  /**
   * Turns the write lock into a read lock and admits the waiting readers; no writer enters in between. This permit is
   * released; release the returned one.
   *
   * @throws {TypeError} if this permit was released.
   *
   * @example
   * ```ts
   * import { RwLock } from 'pointsman';
   *
   * const lock = new RwLock();
   * using write = await lock.write();
   * using read = write.downgrade();
   * console.log(write.released, lock.writing, lock.readers); // true false 1
   * ```
   */
  downgrade(): Permit {
    if (!(this instanceof WritePermit)) throw detached('downgrade');
    const lock = this._issuer;
    if (!lock) throw new TypeError('the permit was released');
    this._issuer = undefined;
    return lock._downgrade();
  }
}

/**
 * A readers-writer lock: held by any number of readers or by one writer.
 *
 * - **Fair by phases.** When a writer leaves, all waiting readers enter together; when the last reader of that phase
 *   leaves, the next writer. A reader that arrives while a writer waits, waits too. So a reader waits for at most one
 *   writer that has not entered yet; a writer for the readers of one phase, and for each writer before it with its phase.
 * - **Giving up leaves no trace.** Readers that waited only for a writer that gives up enter at once.
 * - **Release is exactly once**, and **the caller's context is kept**, as with a {@link Semaphore}.
 *
 * The lock is not reentrant. A holder that requests it again can wait for itself forever, also a reader: a writer may
 * wait in between.
 *
 * @example
 * ```ts
 * import { RwLock } from 'pointsman';
 *
 * const lock = new RwLock();
 * let settings = { version: 1 };
 *
 * async function version(): Promise<number> {
 *   using permit = await lock.read();
 *   return settings.version; // other readers may be here too
 * }
 *
 * async function reload(): Promise<void> {
 *   using permit = await lock.write();
 *   settings = { version: settings.version + 1 }; // no reader or other writer is here
 * }
 *
 * console.log(await Promise.all([version(), reload(), version()])); // [ 1, undefined, 2 ]
 * ```
 */
export class RwLock extends Drainable {
  /** The number of readers that hold the lock; -1 for a writer. */
  #inside = 0;
  readonly #max: number;
  readonly #reads: WaitQueue<Permit>;
  readonly #writes: WaitQueue<WritePermit>;

  /** @param options `maxWaiting` bounds readers and writers together. */
  constructor(options?: QueueOptions) {
    const { label, maxWaiting } = readQueueOptions(options);
    super(label);
    this.#max = maxWaiting;
    this.#reads = new WaitQueue(label);
    this.#writes = new PriorityQueue(label);
  }

  /** The number of readers that hold the lock. */
  get readers(): number {
    return Math.max(this.#inside, 0);
  }

  /** Whether a writer holds the lock. */
  get writing(): boolean {
    return this.#inside < 0;
  }

  /** The number of waiting requests, readers and writers together. */
  get waiting(): number {
    return this.#reads.length + this.#writes.length;
  }

  /** @internal */
  get _active(): number {
    return Math.abs(this.#inside);
  }

  /** Whether the lock is free and no request waits. */
  get idle(): boolean {
    return this.#inside === 0 && this.waiting === 0;
  }

  /** Acquires a read lock; waits while a writer holds or awaits the lock. Rejects as {@link Semaphore.acquire} does. */
  read(options?: WaitOptions): Promise<Permit> {
    try {
      const permit = options === undefined && this.#enter(this.#reads, true);
      return (permit || Promise.resolve(this.#request(this.#reads, options))) as never;
    } catch (error) {
      return Promise.reject(causeOf(error, this, RwLock, 'read'));
    }
  }

  /**
   * Acquires the write lock; waits until it is this request's turn. Rejects as {@link Semaphore.acquire} does.
   *
   * @example
   * ```ts
   * import { RwLock } from 'pointsman';
   *
   * const lock = new RwLock({ name: 'index' });
   * using reader = await lock.read();
   * await lock.write({ timeout: 1 }).catch((error) => console.log(error.message)); // index: timed out after 1 ms
   * ```
   */
  write(options?: WriteOptions): Promise<WritePermit> {
    try {
      const permit = options === undefined && this.#enter(this.#writes, true);
      return (permit || Promise.resolve(this.#request(this.#writes, options))) as never;
    } catch (error) {
      return Promise.reject(causeOf(error, this, RwLock, 'write'));
    }
  }

  /**
   * Acquires a read lock without waiting; returns `undefined` if it would have to wait.
   *
   * @throws The reason of {@link close}, if closed.
   */
  tryRead(): Permit | undefined {
    if (!(this instanceof RwLock)) throw detached('tryRead');
    return this.#enter(this.#reads);
  }

  /**
   * Acquires the write lock without waiting; returns `undefined` if the lock is held.
   *
   * @throws The reason of {@link close}, if closed.
   */
  tryWrite(): WritePermit | undefined {
    if (!(this instanceof RwLock)) throw detached('tryWrite');
    return this.#enter(this.#writes) as WritePermit | undefined;
  }

  /**
   * Runs `fn` with a read lock. As {@link Semaphore.run}.
   *
   * @example
   * ```ts
   * import { RwLock } from 'pointsman';
   *
   * const lock = new RwLock();
   * console.log(await lock.runRead(() => lock.readers)); // 1
   * console.log(await lock.runWrite(() => lock.writing)); // true
   * ```
   */
  runRead<T>(fn: (permit: Permit) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    try {
      return this.#run(this.#reads, fn, options);
    } catch (error) {
      return Promise.reject(causeOf(error, this, RwLock, 'runRead'));
    }
  }

  /**
   * Runs `fn` with the write lock. As {@link Semaphore.run}. It does not release the permit of a
   * {@link WritePermit.downgrade}.
   */
  runWrite<T>(fn: (permit: WritePermit) => T | PromiseLike<T>, options?: WriteOptions): Promise<T> {
    try {
      return this.#run(this.#writes, fn, options);
    } catch (error) {
      return Promise.reject(causeOf(error, this, RwLock, 'runWrite'));
    }
  }

  /** @internal */
  _dismiss(reason: unknown): void {
    this.#writes.rejectAll(reason);
    this.#reads.rejectAll(reason);
  }

  /** @internal */
  _downgrade(): Permit {
    this.#admitReaders();
    return new Permit(this, 1);
  }

  /** @internal */
  _giveBack(): void {
    if (this.#inside < 0) this.#admitReaders();
    this.#leave();
  }

  #mayRead(): boolean {
    return this.#inside >= 0 && this.#writes.length === 0;
  }

  /** Returns a permit if it can be granted at once, with `promised` as a promise. */
  #enter(queue: unknown, promised?: boolean): Permit | undefined {
    this._refuse();
    if (queue === this.#reads) {
      if (!this.#mayRead()) return undefined;
      this.#inside++;
      return new Permit(this, 1, promised);
    }
    if (this.#inside !== 0) return undefined;
    this.#inside = -1;
    return new WritePermit(this, 1, promised);
  }

  /** Returns a permit if it can be granted at once, otherwise a promise of one. */
  #request<Held extends Permit>(
    queue: WaitQueue<Held>,
    options: WriteOptions | undefined,
  ): Held | Promise<Held> {
    const names = queue === (this.#reads as unknown) ? waitNames : writeNames;
    const request = options === undefined ? options : readRequest(options, names);
    const permit = this.#enter(queue) as Held | undefined;
    if (permit) {
      winContest(request?.signal);
      return permit;
    }
    if (this.waiting >= this.#max && request?.timeout !== 0) {
      throw fullError(this._label, this.#max);
    }
    if (!request) return queue.append();
    return queue.insert(request, () => {
      // Admits the readers that waited only for a writer that has given up.
      if (!this.#mayRead()) return;
      this.#admitReaders();
      this.#leave();
    });
  }

  #run<T, Held extends Permit>(
    queue: WaitQueue<Held>,
    fn: (permit: Held) => T | PromiseLike<T>,
    options: WriteOptions | undefined,
  ): Promise<T> {
    checkFunction('fn', fn);
    return runWith(this.#request(queue, options), fn);
  }

  /**
   * Begins a phase of readers: the waiting ones, and the caller as one more, which keeps the phase from ending meanwhile:
   * a grant may run a listener that releases.
   */
  #admitReaders(): void {
    this.#inside = this.readers + 1;
    const queue = this.#reads;
    for (let { next } = queue; next; next = queue.next) {
      this.#inside++;
      queue.grant(new HandedPermit(this, 1), next);
    }
  }

  /** Removes a reader; after the last one a writer enters. */
  #leave(): void {
    if (--this.#inside > 0) return;
    const { next } = this.#writes;
    if (next) {
      this.#inside = -1;
      this.#writes.grant(new WritePermit(this, 1), next);
    } else if (this.#reads.length > 0) {
      // The writers that these readers waited for have all given up.
      this.#admitReaders();
      this.#leave();
    } else {
      this._idled();
    }
  }
}
