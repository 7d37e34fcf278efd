/**
 * A claim of the local queue, and the keys that it owns. Invariant: `claim.queues` are those whose `claim`
 * it is.
 */

import type { Acquisition } from '../acquisition.js';
import type { LockLostError, RedisLockError } from '../errors.js';
import type { Grant } from '../protocol/protocol.js';
import type { Claim } from '../session/claims.js';
import { TOKENS } from './tokens.js';

/** The queue for a key, and through which claim this process owns the key. */
export interface KeyQueue {
  readonly key: string;
  first: Entry | undefined;
  last: Entry | undefined;
  /** Through which this process owns the key. */
  claim: LocalClaim | undefined;
  /** Whether the first holds the lock, or is about to. */
  taken: boolean;
}

/** A place in a key's queue. */
export interface Entry {
  readonly acquisition: Acquisition;
  readonly queue: KeyQueue;
  previous: Entry | undefined;
  next: Entry | undefined;
}

/** Who is told what becomes of claims. */
export interface ClaimOwner {
  wantedBehind(acquisition: Acquisition): readonly string[];
  /** The server has granted a claim. */
  granted(claim: LocalClaim, grant: Grant): void;
  /** Somebody elsewhere waits for a key of this claim. */
  revoked(claim: LocalClaim): void;
  /** A claim that was held or asked for exists no more. */
  lost(claim: LocalClaim, error: LockLostError): void;
  /** A claim was refused: its acquisition leaves, the others go on. */
  dropped(claim: LocalClaim): void;
}

export class LocalClaim implements Claim {
  readonly tokens = TOKENS;
  readonly revocable = true;
  /** Those of the keys that this process owns through it. */
  readonly queues = new Set<KeyQueue>();
  /** For which it was asked. */
  readonly acquisition: Acquisition;
  readonly #owner: ClaimOwner;
  /** How many it has let in. */
  served = 0;
  /** Until when it may be handed on; undefined while nobody elsewhere waits. */
  deadline: number | undefined;

  constructor(owner: ClaimOwner, acquisition: Acquisition) {
    this.#owner = owner;
    this.acquisition = acquisition;
  }

  get keys(): readonly string[] {
    return this.acquisition.keys;
  }

  get owned(): readonly string[] {
    return [...this.queues].map(({ key }) => key);
  }

  get wait(): boolean {
    return this.acquisition.wait;
  }

  get usable(): boolean {
    return this.deadline === undefined || this.served === 0 || performance.now() < this.deadline;
  }

  optional(): readonly string[] {
    return this.#owner.wantedBehind(this.acquisition);
  }

  granted(grant: Grant): void {
    this.#owner.granted(this, grant);
  }

  busy(): void {
    this.#owner.dropped(this);
    this.acquisition.miss();
  }

  revoked(): void {
    this.#owner.revoked(this);
  }

  lost(error: LockLostError): void {
    this.#owner.lost(this, error);
  }

  refused(error: RedisLockError): void {
    this.#owner.dropped(this);
    this.acquisition.refuse(error);
  }
}
