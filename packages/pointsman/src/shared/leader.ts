/**
 * The election of a leader. Invariant: no two terms of an election are valid at the same time, and the token of each is
 * higher than that of every earlier one.
 */

import { checkFunction, detached, ReentrancyError } from '../sync/errors.js';
import { checkWaitOptions, type WaitOptions } from '../sync/options.js';
import { giveUpOn } from '../sync/wait/give-up.js';
import type { SharedGuard } from './acquisition.js';
import { readElection, readSharedOptions, type SharedOptions } from './options.js';
import { SharedPrimitive } from './primitive.js';
import { sessionOf } from './protocol/protocol.js';
import type { Store } from './store.js';

/**
 * Elects one of several processes, which leads until it resigns, closes, dies or loses its lease. The others wait; the
 * first of them leads next.
 *
 * A leader that resigns or closes hands over at once. After the death of a leader the next one leads when the lease has
 * ended, at most the `ttl` of the store later. A leader that was suspended may believe for a moment that it still leads,
 * as no lock over a network can prevent: check the {@link token} where an effect must not happen twice.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis';
 * import { redis } from 'pointsman/redis';
 * import { Leader } from 'pointsman/shared';
 *
 * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
 * const leader = new Leader(redis(client), 'scheduler');
 * const term = await leader.campaign();
 * console.log(leader.isLeader, term.signal.aborted); // true false
 * await leader.resign();
 * console.log(leader.isLeader); // false
 * await leader.close();
 * client.disconnect();
 * ```
 */
export class Leader extends SharedPrimitive {
  /** The name of the election. */
  readonly election: string;
  #term: SharedGuard | undefined;
  /** The number of calls of `run` under the current term. */
  #runs = 0;
  /** Whether a call of `campaign` waits. */
  #campaigning = false;

  /**
   * @param store Such as `redis` of `pointsman/redis` returns.
   * @param election The name of the election: a non-empty, well-formed string.
   * @throws {TypeError} if an argument is invalid.
   */
  constructor(store: Store, election: string, options: SharedOptions = {}) {
    const name = readSharedOptions(options);
    readElection(election);
    super(store, 'leader', name);
    this.election = election;
  }

  /** Whether this process leads beyond doubt. */
  get isLeader(): boolean {
    return this.#term?.valid === true;
  }

  /** The token of the current term, higher than that of every earlier leader; undefined if this process does not lead. */
  get token(): number | undefined {
    return this.isLeader ? this.#term?.token : undefined;
  }

  /** Aborts with a {@link LockLostError} when the current term is lost; undefined if this process does not lead. */
  get signal(): AbortSignal | undefined {
    return this.isLeader ? this.#term?.signal : undefined;
  }

  /**
   * Waits until this process leads; resolves to its term. The term lasts until {@link resign}, or until it is lost: then
   * its signal aborts. Resolves to the current term if this process leads already. Rejects like {@link SharedMutex.lock},
   * and with a `ReentrancyError` while another call waits.
   */
  async campaign(options: WaitOptions = {}): Promise<SharedGuard> {
    if (!(this instanceof Leader)) throw detached('campaign');
    checkWaitOptions(options);
    if (options.signal?.aborted) throw options.signal.reason;
    if (this.#term?.valid) return this.#term;
    if (this.#campaigning) {
      throw new ReentrancyError(`${this._label}another campaign of this leader waits`, this);
    }
    this.#campaigning = true;
    const doubted = this.#term?._acquisition.state === 'held' ? this.#term : undefined;
    const controller = new AbortController();
    // A term in doubt holds the key: the request would wait behind it until it is lost, and must not once it is confirmed.
    doubted?.extend().then(
      () => controller.abort(doubted),
      () => {},
    );
    const stop = giveUpOn({ signal: options.signal }, (why) => controller.abort(why), String);
    try {
      const { signal } = doubted === undefined ? options : controller;
      this.#term = await this._request([this.#key], { ...options, signal }, undefined, true);
      this.#runs = 0;
      return this.#term as SharedGuard;
    } catch (error) {
      if (doubted !== undefined && error === doubted) return doubted;
      throw error;
    } finally {
      stop();
      this.#campaigning = false;
    }
  }

  /** Ends the current term, if there is one; the first process that waits leads next. Resolves when the store has replied. */
  async resign(): Promise<void> {
    if (!(this instanceof Leader)) throw detached('resign');
    const term = this.#term;
    this.#term = undefined;
    await term?.release();
  }

  /**
   * Runs `fn` while this process leads: campaigns, calls `fn` with the term, and resigns when the result has settled; of
   * several runs under one term, the last one resigns. Settles like `fn`. `fn` must stop when the signal of its term
   * aborts.
   */
  async run<T>(fn: (term: SharedGuard) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    if (!(this instanceof Leader)) throw detached('run');
    checkFunction('fn', fn);
    const term = await this.campaign(options);
    this.#runs++;
    try {
      return await fn(term);
    } finally {
      if (this.#term === term && --this.#runs === 0) await this.resign();
    }
  }

  /** Returns the process that leads, by its name with a suffix that makes it unique; undefined if none does. */
  async current(): Promise<string | undefined> {
    if (!(this instanceof Leader)) throw detached('current');
    this._refuseIfClosed();
    const { locks } = await this._open().session.query();
    const [holder] = locks.get(this.#key) ?? [];
    return holder === undefined ? undefined : sessionOf(holder.id);
  }

  get #key(): string {
    return `leader:${this.election}`;
  }
}
