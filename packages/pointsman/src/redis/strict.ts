/**
 * Acquisitions that each wait by themselves on the server, in one queue with those of all other
 * processes.
 *
 * Invariant: an acquisition has one claim for as long as it waits or holds the lock.
 */

import type { Acquisition, Queue } from './acquisition.js';
import type { LockLostError, RedisLockError } from './errors.js';
import type { Grant } from './protocol/protocol.js';
import type { Claim } from './session/claims.js';
import type { Session } from './session/session.js';

export class StrictQueue implements Queue {
  readonly session: Session;
  readonly #claims = new Map<Acquisition, Claim>();

  constructor(session: Session) {
    this.session = session;
  }

  /** Who holds this key or waits for it. */
  *acquisitionsOf(key: string): Iterable<Acquisition> {
    for (const acquisition of this.#claims.keys())
      if (acquisition.keys.includes(key)) yield acquisition;
  }

  get acquisitions(): Iterable<Acquisition> {
    return this.#claims.keys();
  }

  enter(acquisition: Acquisition): void {
    const claim = this.#claimOf(acquisition);
    this.#claims.set(acquisition, claim);
    this.session.ask(claim);
  }

  /** Waits at a condition first. Resolves when it does. */
  park(acquisition: Acquisition, condition: string): Promise<void> {
    const claim = this.#claimOf(acquisition);
    this.#claims.set(acquisition, claim);
    return this.session.park(claim, condition).catch((error) => {
      acquisition.giveUp(error);
      throw error;
    });
  }

  idOf(acquisition: Acquisition): string | undefined {
    const claim = this.#claims.get(acquisition);
    return claim && this.session.idOf(claim);
  }

  leave(acquisition: Acquisition): Promise<void> {
    const claim = this.#claims.get(acquisition);
    if (claim === undefined) return Promise.resolve();
    this.#claims.delete(acquisition);
    return this.session.giveBack(claim, acquisition.keys, true);
  }

  #claimOf(acquisition: Acquisition): Claim {
    const claim: Claim = {
      keys: acquisition.keys,
      owned: acquisition.keys,
      tokens: 1,
      revocable: false,
      wait: acquisition.wait,
      granted: ({ token }: Grant) => acquisition.start(token),
      busy: () => {
        this.#claims.delete(acquisition);
        acquisition.miss();
      },
      lost: (error: LockLostError) => {
        if (acquisition.state === 'held') {
          this.#claims.delete(acquisition);
          acquisition.lose(error);
        } else {
          this.session.ask(claim);
        }
      },
      refused: (error: RedisLockError) => {
        this.#claims.delete(acquisition);
        acquisition.refuse(error);
      },
    };
    return claim;
  }
}
