/**
 * What each of several guards of one lock stands for, when its owner has locked the keys again.
 *
 * Invariant: each guard counts once, and the lock is given back when the last of them is released.
 */

import { type Hold, RedisGuard } from './guard.js';

export class Share implements Hold {
  readonly keys: readonly string[];
  readonly guard: RedisGuard;
  readonly #lock: Hold;
  /** Those of the lock that are not released. */
  readonly #all: Set<Share>;

  constructor(
    lock: Hold,
    all: Set<Share>,
    keys: readonly string[],
    token: number,
    guard?: RedisGuard,
  ) {
    this.#lock = lock;
    this.#all = all;
    this.keys = keys;
    all.add(this);
    this.guard = guard ?? new RedisGuard(this, token);
    guard?._resume(this, token);
  }

  get owner(): unknown {
    return this.#lock.owner;
  }

  get state(): Hold['state'] {
    return this.#all.has(this) ? this.#lock.state : 'over';
  }

  get session(): Hold['session'] {
    return this.#lock.session;
  }

  get shares(): number {
    return this.#all.size;
  }

  get maxHold(): number | undefined {
    return this.#lock.maxHold;
  }

  check(): boolean {
    return this.#all.has(this) && this.#lock.check();
  }

  release(): Promise<void> {
    const last = this.#all.delete(this) && this.#all.size === 0;
    return last ? this.#lock.release() : Promise.resolve();
  }
}
