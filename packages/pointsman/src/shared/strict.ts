/**
 * The queue of the store: each acquisition waits there, in one queue with those of all processes.
 *
 * Invariant: an acquisition has one claim while it waits or holds the lock. A claim that the server has forgotten is
 * replaced by a new one.
 */

import type { Acquisition, Queue } from './acquisition.js';
import type { LockLostError } from './errors.js';
import type { Grant } from './protocol/protocol.js';
import type { Claim, ClaimOwner } from './session/claims.js';
import type { Session } from './session/session.js';

export class StrictQueue implements Queue, ClaimOwner {
  readonly session: Session;
  readonly tokens = 1;
  readonly revocable = false;
  readonly #claims = new Map<Acquisition, Claim>();

  constructor(session: Session) {
    this.session = session;
  }

  *acquisitionsOf(key: string): Iterable<Acquisition> {
    for (const acquisition of this.#claims.keys())
      if (acquisition.keys.includes(key)) yield acquisition;
  }

  get acquisitions(): Iterable<Acquisition> {
    return this.#claims.keys();
  }

  enter(acquisition: Acquisition): void {
    this.session.claims.lock(this.#add(acquisition));
  }

  /** Parks an acquisition at a condition, until a notification queues it for its keys. Resolves when it is parked. */
  async park(acquisition: Acquisition, condition: string): Promise<void> {
    const { id, keys } = this.#add(acquisition);
    try {
      await this.session.perform({ name: 'wait', id, condition, keys });
    } catch (error) {
      // If the server lost its state meanwhile, the claim is queued for its keys: the acquisition leaves that queue.
      acquisition.giveUp(error);
      throw error;
    }
  }

  /** Turns a held acquisition into a shared one. Resolves when the store has replied. */
  async downgrade(acquisition: Acquisition): Promise<void> {
    const id = this.idOf(acquisition);
    if (id === undefined) return;
    await this.session.perform({ name: 'downgrade', id, keys: acquisition.keys });
  }

  idOf(acquisition: Acquisition): string | undefined {
    return this.#claims.get(acquisition)?.id;
  }

  leave(acquisition: Acquisition): Promise<void> {
    const claim = this.#claims.get(acquisition);
    if (claim === undefined) return Promise.resolve();
    this.#claims.delete(acquisition);
    return this.session.claims.giveBack(claim, acquisition.keys);
  }

  granted({ acquisition }: Claim, { token }: Grant): void {
    acquisition.start(token);
  }

  lost(claim: Claim, error: LockLostError): void {
    const { acquisition } = claim;
    // The abort listener of another guard may have ended it.
    if (this.#claims.get(acquisition) !== claim) return;
    if (acquisition.state === 'held') {
      this.#claims.delete(acquisition);
      acquisition.lose(error);
    } else {
      this.enter(acquisition);
    }
  }

  dropped({ acquisition }: Claim): void {
    this.#claims.delete(acquisition);
  }

  #add(acquisition: Acquisition): Claim {
    const claim = this.session.claims.add(this, acquisition);
    this.#claims.set(acquisition, claim);
    return claim;
  }
}
