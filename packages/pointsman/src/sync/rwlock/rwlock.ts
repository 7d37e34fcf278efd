/**
 * A lock that many readers or one writer hold, fair by phases: readers come in together, writers one at a time, and
 * where both wait they take turns (B. B. Brandenburg, J. H. Anderson, "Spin-Based Reader-Writer Synchronization for
 * Multiprocessor Real-Time Systems", Real-Time Systems 46, 2010).
 *
 * Invariant, whenever none of this code is running: readers wait only while a writer is inside or waits; writers
 * wait only while somebody is inside. So whoever comes needs one look: a reader at the writers, a writer at whether
 * it is empty.
 *
 * A writer leaves as a reader: it lets in all readers who wait, as one of them, and then goes. So to downgrade is to
 * leave without going, and there is no moment in between in which another writer could come.
 */

import { Drainable } from '../closable.js';
import { causeOf, checkFunction, detached, fullError } from '../errors.js';
import { type WaitOptions, waitNames } from '../options.js';
import { HandedPermit, Permit } from '../semaphore/permit.js';
import { runWith } from '../semaphore/semaphore.js';
import { claim } from '../wait/give-up.js';
import { type QueueOptions, readQueueOptions, readRequest, WaitQueue } from '../wait/queue.js';

/** What {@link RwLock.write} may be told. */
export interface WriteOptions extends WaitOptions {
  /**
   * Among the writers who wait those with a higher priority come first, equals in the order in which they came. Any
   * finite number. Default 0. It makes no difference to readers, whose turn comes after every writer.
   */
  readonly priority?: number | undefined;
}

const writeNames: ReadonlySet<string> = new Set([...waitNames, 'priority']);

/** The right to be inside alone, as {@link RwLock.write} grants it. */
export class WritePermit extends Permit {
  /** @internal The lock that it is of, until it is released. */
  declare _issuer: RwLock | undefined;

  /**
   * Goes on as a reader, at once: no other writer comes in between, and what was written is what is read. This
   * permit is released, and the one that is returned must be. Readers who wait come in too.
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
 * Lets many readers in together, or one writer alone.
 *
 * - **Fair by phases.** When a writer leaves, all readers who wait then come in together; when the last reader of
 *   such a phase has left, the writer who has waited longest. A reader who comes while a writer waits, waits too. So
 *   a reader waits for one writer at most that has not come in yet, however many there are, and a writer for the
 *   readers of one phase and for the writers before it, each with the readers of one phase.
 * - **Giving up leaves no trace.** Readers who waited only for a writer that gives up come in at once.
 * - **Release is exactly once**, and **the caller's context is kept**, as with a {@link Semaphore}.
 *
 * It is not reentrant. A holder that asks again may wait for itself: also a reader that reads, as soon as a writer
 * waits between the two.
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
 *   settings = { version: settings.version + 1 }; // nobody else is here
 * }
 *
 * console.log(await Promise.all([version(), reload(), version()])); // [ 1, undefined, 2 ]
 * ```
 */
export class RwLock extends Drainable {
  /** How many readers are inside; -1 is a writer. */
  #inside = 0;
  readonly #most: number;
  readonly #reads: WaitQueue<Permit>;
  readonly #writes: WaitQueue<WritePermit>;

  /**
   * @param options `maxWaiting` bounds readers and writers together.
   * @throws {RangeError | TypeError} for options that cannot be used.
   */
  constructor(options?: QueueOptions) {
    const { label, maxWaiting } = readQueueOptions(options);
    super(label);
    this.#most = maxWaiting;
    this.#reads = new WaitQueue(label, maxWaiting);
    this.#writes = new WaitQueue(label, maxWaiting);
  }

  /** How many readers are inside. */
  get readers(): number {
    return Math.max(this.#inside, 0);
  }

  /** Whether a writer is inside. */
  get writing(): boolean {
    return this.#inside < 0;
  }

  /** How many requests wait, readers and writers together. */
  get waiting(): number {
    return this.#reads.length + this.#writes.length;
  }

  /** @internal */
  get _active(): number {
    return Math.abs(this.#inside);
  }

  /** Whether nobody is inside and nobody waits. */
  get idle(): boolean {
    return this.#inside === 0 && this.waiting === 0;
  }

  /**
   * Comes in as a reader: at once, unless a writer is inside or waits.
   *
   * Never throws: it rejects as {@link Semaphore.acquire} does.
   */
  read(options?: WaitOptions): Promise<Permit> {
    try {
      const permit = options === undefined && this.#enter(this.#reads, true);
      return (permit || Promise.resolve(this.#request(this.#reads, options))) as never;
    } catch (error) {
      return Promise.reject(causeOf(error, this, RwLock, 'read'));
    }
  }

  /**
   * Comes in as a writer: at once if nobody is inside, and otherwise in its turn.
   *
   * Never throws: it rejects as {@link Semaphore.acquire} does.
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
   * Comes in as a reader if that needs no waiting; otherwise it is `undefined` and nothing has changed.
   *
   * @throws The reason of {@link close}, if closed.
   */
  tryRead(): Permit | undefined {
    if (!(this instanceof RwLock)) throw detached('tryRead');
    return this.#enter(this.#reads);
  }

  /**
   * Comes in as a writer if nobody is inside; otherwise it is `undefined` and nothing has changed.
   *
   * @throws The reason of {@link close}, if closed.
   */
  tryWrite(): WritePermit | undefined {
    if (!(this instanceof RwLock)) throw detached('tryWrite');
    return this.#enter(this.#writes) as WritePermit | undefined;
  }

  /**
   * Runs `fn` as a reader, and leaves when its result has settled. As {@link Semaphore.run}.
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
   * Runs `fn` as a writer, and leaves when its result has settled. As {@link Semaphore.run}. A permit that `fn` got
   * by {@link WritePermit.downgrade} is not released by this.
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
    this.#letReadersIn();
    return new Permit(this, 1);
  }

  /** @internal */
  _giveBack(): void {
    if (this.#inside < 0) this.#letReadersIn();
    this.#leave();
  }

  #mayRead(): boolean {
    return this.#inside >= 0 && this.#writes.length === 0;
  }

  /** A permit, or the promise of it, if it can be had at once. */
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

  /** A permit if one can be had at once, otherwise the promise of one. */
  #request<Held extends Permit>(
    queue: WaitQueue<Held>,
    options: WriteOptions | undefined,
  ): Held | Promise<Held> {
    const names = queue === (this.#reads as unknown) ? waitNames : writeNames;
    const request = options === undefined ? options : readRequest(options, names);
    const permit = this.#enter(queue) as Held | undefined;
    if (permit) {
      claim(request?.signal);
      return permit;
    }
    if (this.waiting >= this.#most && request?.timeout !== 0) {
      throw fullError(this._label, this.#most);
    }
    if (!request) return queue.append();
    return queue.insert(request, () => {
      // Those who waited for nobody but a writer that has given up.
      if (!this.#mayRead()) return;
      this.#letReadersIn();
      this.#leave();
    });
  }

  #run<T, Held extends Permit>(
    queue: WaitQueue<Held>,
    fn: (permit: Held) => T | PromiseLike<T>,
    options: WriteOptions | undefined,
  ): Promise<T> {
    checkFunction('fn', fn);
    const granted = this.#request(queue, options);
    if (granted instanceof Permit) return runWith(granted, fn);
    return granted.then((permit) => runWith(permit, fn));
  }

  /**
   * Begins a phase of readers with all who wait, and with one more: a writer that leaves, or nobody at all. That one
   * keeps the phase from ending while it begins, whatever those do who are told of a grant.
   */
  #letReadersIn(): void {
    this.#inside = this.readers + 1;
    const queue = this.#reads;
    for (let { next } = queue; next; next = queue.next) {
      this.#inside++;
      queue.grant(new HandedPermit(this, 1), next);
    }
  }

  /** A reader goes, and the last one lets a writer in. */
  #leave(): void {
    if (--this.#inside > 0) return;
    const { next } = this.#writes;
    if (next) {
      this.#inside = -1;
      this.#writes.grant(new WritePermit(this, 1), next);
    } else if (this.#reads.length > 0) {
      // They waited for writers who have all given up.
      this.#letReadersIn();
      this.#leave();
    } else if (this._watched) {
      this._idled();
    }
  }
}
