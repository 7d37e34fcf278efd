/**
 * The queue of a semaphore: each acquisition requests its permits from the store, in one queue with those of all
 * processes. The tasks of a process may hand permits to each other without the store.
 *
 * Invariants:
 * - Acquisitions of this process that share a key are served in the order of their calls, if they have equal terms (keys
 *   and weight). One with other terms waits for its own claim, and no later one of this process is handed permits before.
 * - A claim is handed on only for a slice of time after its grant, so other processes wait no longer than that.
 * - There are as many requested claims as waiting acquisitions, except that a claim is `spare` until the event loop runs
 *   if its acquisition was handed permits. A new acquisition with equal terms takes it over.
 */

import type { Acquisition, Queue } from '../acquisition.js';
import type { LockLostError } from '../errors.js';
import type { Claim, ClaimOwner } from '../session/claims.js';
import type { Session } from '../session/session.js';

/** For how many milliseconds after a grant its permits may be handed on. */
const SLICE = 5;

const areAlike = (one: Acquisition, other: Acquisition): boolean =>
  one.share?.weight === other.share?.weight &&
  one.keys.length === other.keys.length &&
  one.keys.every((key, i) => key === other.keys[i]);

export class PermitQueue implements Queue, ClaimOwner {
  readonly session: Session;
  /** One for each acquisition that a claim admits. */
  readonly tokens = 64;
  readonly revocable = false;
  readonly #claims = new Map<Acquisition, Claim>();
  /** The acquisitions that wait for each key, in the order of the calls. */
  readonly #waiting = new Map<string, Set<Acquisition>>();
  readonly #spare = new Set<Claim>();

  constructor(session: Session) {
    this.session = session;
  }

  get acquisitions(): Iterable<Acquisition> {
    return this.#claims.keys();
  }

  *acquisitionsOf(key: string): Iterable<Acquisition> {
    for (const acquisition of this.acquisitions)
      if (acquisition.keys.includes(key)) yield acquisition;
  }

  enter(acquisition: Acquisition): void {
    if (acquisition.wait) {
      for (const key of acquisition.keys) {
        const waiting = this.#waiting.get(key);
        if (waiting === undefined) this.#waiting.set(key, new Set([acquisition]));
        else waiting.add(acquisition);
      }
      for (const claim of this.#spare) {
        // After a loss, it may be over already.
        if (claim.state !== 'requested' || !areAlike(claim.acquisition, acquisition)) continue;
        this.#spare.delete(claim);
        this.#assign(claim, acquisition);
        return;
      }
    } else {
      // A spare claim would be in its way.
      this.#giveSparesBack();
    }
    this.#request(acquisition);
  }

  /** From now on, releases the permits of a key to the store: holders may have more than its new limit. */
  stopHandingOn(key: string): void {
    for (const [{ keys }, claim] of this.#claims) if (keys.includes(key)) claim.deadline = 0;
  }

  leave(acquisition: Acquisition): Promise<void> {
    const claim = this.#claims.get(acquisition);
    if (claim === undefined) return Promise.resolve();
    this.#claims.delete(acquisition);
    if (acquisition.state === 'waiting') {
      this.#stopWaiting(acquisition);
    } else {
      const next = this.#nextOf(claim);
      if (next !== undefined) {
        this.#makeSpare(this.#claims.get(next) as Claim);
        this.#assign(claim, next);
        this.#start(claim);
        return Promise.resolve();
      }
    }
    return this.session.claims.giveBack(claim, acquisition.keys);
  }

  granted(claim: Claim): void {
    claim.deadline = performance.now() + SLICE;
    const { acquisition } = claim;
    if (acquisition.wait) {
      const first = this.#firstLike(acquisition);
      if (first === undefined) {
        this.#spare.delete(claim);
        void this.session.claims.giveBack(claim, acquisition.keys);
        return;
      }
      const other = this.#claims.get(first) as Claim;
      if (other !== claim) {
        if (this.#spare.delete(claim)) this.#makeSpare(other);
        else this.#assign(other, acquisition);
        this.#assign(claim, first);
      }
    }
    this.#start(claim);
  }

  lost(claim: Claim, error: LockLostError): void {
    if (this.#spare.delete(claim)) return;
    const { acquisition } = claim;
    // The abort listener of another guard may have ended it.
    if (this.#claims.get(acquisition) !== claim) return;
    if (acquisition.state === 'held') {
      this.#claims.delete(acquisition);
      acquisition.lose(error);
    } else {
      this.#request(acquisition);
    }
  }

  dropped(claim: Claim): void {
    if (this.#spare.delete(claim)) return;
    this.#claims.delete(claim.acquisition);
    this.#stopWaiting(claim.acquisition);
  }

  #request(acquisition: Acquisition): void {
    const claim = this.session.claims.add(this, acquisition);
    this.#claims.set(acquisition, claim);
    this.session.claims.lock(claim);
  }

  #assign(claim: Claim, acquisition: Acquisition): void {
    claim.acquisition = acquisition;
    this.#claims.set(acquisition, claim);
  }

  #start(claim: Claim): void {
    const { acquisition } = claim;
    this.#stopWaiting(acquisition);
    acquisition.start(claim.token + claim.served++);
  }

  #stopWaiting(acquisition: Acquisition): void {
    for (const key of acquisition.keys) {
      const waiting = this.#waiting.get(key);
      waiting?.delete(acquisition);
      if (waiting?.size === 0) this.#waiting.delete(key);
    }
  }

  #firstLike(acquisition: Acquisition): Acquisition | undefined {
    for (const waiting of this.#waiting.get(acquisition.keys[0] as string) ?? [])
      if (areAlike(waiting, acquisition)) return waiting;
    return undefined;
  }

  /** The acquisition that a claim is handed on to: it is the first that waits for any of the keys. */
  #nextOf({ state, acquisition, served, usable }: Claim): Acquisition | undefined {
    const next = this.#firstLike(acquisition);
    if (next === undefined || state !== 'held' || served === this.tokens || !usable) return;
    for (const key of next.keys) {
      const [first] = this.#waiting.get(key) as Set<Acquisition>;
      if (first !== next) return;
    }
    return this.session.checkLease() && this.session.lease.lasting ? next : undefined;
  }

  /** Releases a claim, unless an acquisition takes it over before the event loop runs. */
  #makeSpare(claim: Claim): void {
    this.#spare.add(claim);
    if (this.#spare.size > 1) return;
    setImmediate(() => this.#giveSparesBack());
  }

  #giveSparesBack(): void {
    for (const spare of this.#spare)
      void this.session.claims.giveBack(spare, spare.acquisition.keys);
    this.#spare.clear();
  }
}
