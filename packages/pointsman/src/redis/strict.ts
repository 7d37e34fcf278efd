/**
 * Turns that each wait by themselves on the server, in line with those of all other processes.
 *
 * Invariant: one turn has one claim for as long as it waits or is inside.
 */

import type { LockLostError, RedisLockError } from './errors.js';
import type { Grant } from './protocol/protocol.js';
import type { Claim, Session } from './session.js';
import type { Queue, Turn } from './turn.js';

export class StrictQueue implements Queue {
  readonly session: Session;
  readonly #claims = new Map<Turn, Claim>();

  constructor(session: Session) {
    this.session = session;
  }

  /** Who is inside with this key, or waits for it, on behalf of an owner. */
  *turnsOf(key: string): Iterable<Turn> {
    for (const turn of this.#claims.keys()) if (turn.keys.includes(key)) yield turn;
  }

  get turns(): Iterable<Turn> {
    return this.#claims.keys();
  }

  enter(turn: Turn): void {
    const claim = this.#claimOf(turn);
    this.#claims.set(turn, claim);
    this.session.ask(claim);
  }

  /** Waits at a condition first. Resolves when it does. */
  park(turn: Turn, condition: string): Promise<void> {
    const claim = this.#claimOf(turn);
    this.#claims.set(turn, claim);
    return this.session.park(claim, condition).catch((error) => {
      void this.leave(turn);
      throw error;
    });
  }

  idOf(turn: Turn): string | undefined {
    const claim = this.#claims.get(turn);
    return claim && this.session.idOf(claim);
  }

  leave(turn: Turn): Promise<void> {
    const claim = this.#claims.get(turn);
    if (claim === undefined) return Promise.resolve();
    this.#claims.delete(turn);
    return this.session.giveBack(claim, turn.keys, true);
  }

  #claimOf(turn: Turn): Claim {
    const claim: Claim = {
      keys: turn.keys,
      owned: turn.keys,
      tokens: 1,
      revocable: false,
      wait: turn.wait,
      granted: ({ token }: Grant) => turn.start(token),
      busy: () => {
        this.#claims.delete(turn);
        turn.miss();
      },
      lost: (error: LockLostError) => {
        if (turn.state === 'inside') {
          this.#claims.delete(turn);
          turn.lose(error);
        } else {
          this.session.ask(claim);
        }
      },
      refused: (error: RedisLockError) => {
        this.#claims.delete(turn);
        turn.refuse(error);
      },
    };
    return claim;
  }
}
