/**
 * What a session asks the server for, and what it holds.
 *
 * Invariant: a claim is known by one id, from when it is asked for until it is given back, refused or
 * lost. No id is used again.
 */

import type { LockLostError, RedisLockError } from '../errors.js';
import type { Grant } from '../protocol/protocol.js';

/** A request to the server for a set of keys. Its owner is told what becomes of it. */
export interface Claim {
  readonly keys: readonly string[];
  /** Those that it holds: fewer than `keys` when some have gone back, more when it took others along. */
  readonly owned: readonly string[];
  /** How many fencing tokens to reserve. */
  readonly tokens: number;
  /** Whether its owner gives the keys back when somebody else waits for them. */
  readonly revocable: boolean;
  /** Whether to queue if the keys are not free. */
  readonly wait: boolean;
  /** Keys to take along if nobody holds or wants them; asked once, when the batch is put together. */
  optional?(): readonly string[];
  granted(grant: Grant): void;
  /** The keys are not free, and it was not to wait. */
  busy?(): void;
  /** Somebody else waits for one of the keys that it holds. */
  revoked?(): void;
  /** Held, it is lost. Waiting, it has been forgotten and may be asked for again. */
  lost(error: LockLostError): void;
  /** The server refuses it. It is neither held nor waiting. */
  refused(error: RedisLockError): void;
}

/** A claim that the server may know. */
export class ActiveClaim {
  readonly id: string;
  readonly claim: Claim;
  state: 'asked' | 'held' | 'over' = 'asked';
  /**
   * Whether a `lock` for it has no answer yet: of two copies of a try one could fail, the other not.
   * `again`: what was heard meanwhile may be newer than that answer.
   */
  locking: 'no' | 'once' | 'again' = 'no';
  /** Whether it was asked to come back before it was known to be granted. */
  revokedEarly = false;
  /** The first token with which it is held. */
  token = 0;
  /** The highest token with which it was taken away by force: news of that grant may come later. */
  taken = 0;
  #optional: readonly string[] | undefined;

  constructor(id: string, claim: Claim) {
    this.id = id;
    this.claim = claim;
  }

  /** The optional keys that it is sent with, the same ones each time. */
  chooseOptional(): readonly string[] {
    if (this.#optional === undefined) {
      const keys = this.claim.optional?.() ?? [];
      if (keys.length === 0) return keys;
      this.#optional = keys;
    }
    return this.#optional;
  }

  /** All that it may have been granted. */
  get wanted(): readonly string[] {
    return [...this.claim.keys, ...(this.#optional ?? [])];
  }

  /** Whether it has requested all of these keys. */
  mayHave(keys: readonly string[]): boolean {
    const { wanted } = this;
    return keys.every((key) => wanted.includes(key));
  }
}

/** The active claims of a session, in the order in which they were asked for. */
export class Claims {
  readonly #byId = new Map<string, ActiveClaim>();
  readonly #byClaim = new Map<Claim, ActiveClaim>();

  get empty(): boolean {
    return this.#byId.size === 0;
  }

  add(active: ActiveClaim): void {
    this.#byId.set(active.id, active);
    this.#byClaim.set(active.claim, active);
  }

  get(id: string): ActiveClaim | undefined {
    return this.#byId.get(id);
  }

  of(claim: Claim): ActiveClaim | undefined {
    return this.#byClaim.get(claim);
  }

  in(state: ActiveClaim['state']): ActiveClaim[] {
    return [...this.#byId.values()].filter((active) => active.state === state);
  }

  delete(active: ActiveClaim): void {
    active.state = 'over';
    this.#byId.delete(active.id);
    this.#byClaim.delete(active.claim);
  }
}
