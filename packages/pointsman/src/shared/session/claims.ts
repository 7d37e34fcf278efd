/**
 * The claims of a session: its requests to the server for keys, and what they were granted.
 *
 * Invariants:
 * - A claim keeps its id from the request until its keys are released, refused or lost. An id is never used again.
 * - A claim has at most one `lock` operation without a reply. If its state is requested meanwhile, the operation is
 *   repeated after the reply, which may be outdated.
 * - A claim is granted to its owner only while the lease is valid here and a loss of the server's state would be
 *   announced to this process. Otherwise the server is asked first.
 */

import { nextMicrotask } from '../../sync/wait/give-up.js';
import type { Acquisition } from '../acquisition.js';
import { LockLostError, type StoreError } from '../errors.js';
import type { Metrics } from '../metrics.js';
import { type Grant, type Message, REVOCABLE } from '../protocol/protocol.js';
import type { PendingOperation } from './batches.js';
import type { Lease } from './time.js';

/** The queue that requested a claim. */
export interface ClaimOwner {
  /** The number of fencing tokens for each claim. */
  readonly tokens: number;
  /** Whether the owner gives keys back when another process waits for them. */
  readonly revocable: boolean;
  /** Further keys to claim for an acquisition if they are free and have no waiters. */
  optionalFor?(acquisition: Acquisition): readonly string[];
  granted(claim: Claim, grant: Grant): void;
  /** Another process waits for one of the claim's keys. */
  revoked?(claim: Claim): void;
  /** A held claim is lost. A waiting one is unknown to the server and may be requested again. */
  lost(claim: Claim, error: LockLostError): void;
  /** The claim is neither held nor waiting: the server refused it, or its keys were not free. */
  dropped(claim: Claim): void;
}

/** A request to the server for the keys of an acquisition. */
export class Claim {
  readonly id: string;
  readonly owner: ClaimOwner;
  /** Its owner may replace it by one with the same terms. */
  acquisition: Acquisition;
  state: 'requested' | 'held' | 'over' = 'requested';
  /** The keys that it holds, including optional ones. */
  readonly owned = new Set<string>();
  /** `once`: a `lock` operation has no reply. `again`: it is to be repeated after the reply. */
  locking: 'no' | 'once' | 'again' = 'no';
  /** Whether it was revoked before the grant arrived. */
  revokedEarly = false;
  /** The first of its fencing tokens. */
  token = 0;
  /** The highest token of a grant that `forceUnlock` took. The grant may arrive later. */
  taken = 0;
  /** The number of acquisitions that it admitted. */
  served = 0;
  /** When its owner has to give it back; undefined while no other process waits. */
  deadline: number | undefined;
  #optional: readonly string[] | undefined;

  constructor(id: string, owner: ClaimOwner, acquisition: Acquisition) {
    this.id = id;
    this.owner = owner;
    this.acquisition = acquisition;
  }

  get keys(): readonly string[] {
    return this.acquisition.keys;
  }

  /** Whether it may admit another acquisition; each claim admits at least one. */
  get usable(): boolean {
    return this.deadline === undefined || this.served === 0 || performance.now() < this.deadline;
  }

  /** The optional keys, the same in each `lock` operation. */
  chooseOptional(): readonly string[] {
    if (this.#optional === undefined) {
      const keys = this.owner.optionalFor?.(this.acquisition) ?? [];
      if (keys.length === 0) return keys;
      this.#optional = keys;
    }
    return this.#optional;
  }

  /** All keys that the server may have granted. */
  get wanted(): readonly string[] {
    return [...this.keys, ...(this.#optional ?? [])];
  }

  mayHave(keys: readonly string[]): boolean {
    const { wanted } = this;
    return keys.every((key) => wanted.includes(key));
  }

  hold(grant: Grant): void {
    this.state = 'held';
    this.token = grant.token;
    for (const key of this.keys) this.owned.add(key);
    for (const key of grant.extra) this.owned.add(key);
  }
}

/** The part of a session that its claims use. */
export interface ClaimSession {
  readonly id: string;
  readonly label: string;
  readonly ttl: number;
  readonly lease: Lease;
  /** See `Link.continuity`, for announcements of a loss. */
  readonly continuity: number;
  send(operation: PendingOperation): void;
  renewSoon(): void;
  listenForLoss(): Promise<void>;
  /** The server knows the session, as of this continuity. */
  confirm(continuity: number): void;
  /** A claim is queued behind a session whose lease ends in `left` milliseconds. */
  queuedFor(left: number): void;
  /** The last claim has ended. */
  emptied(): void;
  refuse(reason: unknown): void;
  lose(reason: string): void;
}

export class Claims {
  readonly #session: ClaimSession;
  readonly #metrics: Metrics;
  /** In the order of the requests. */
  readonly #claims = new Map<string, Claim>();
  #requests = 0;
  /** The highest token of a grant. */
  #highest = 0;

  constructor(session: ClaimSession, metrics: Metrics) {
    this.#session = session;
    this.#metrics = metrics;
  }

  get empty(): boolean {
    return this.#claims.size === 0;
  }

  in(state: Claim['state']): Claim[] {
    return [...this.#claims.values()].filter((claim) => claim.state === state);
  }

  newId(): string {
    return `${this.#session.id}/${++this.#requests}`;
  }

  add(owner: ClaimOwner, acquisition: Acquisition): Claim {
    const id = this.newId() + (owner.revocable ? REVOCABLE : '');
    const claim = new Claim(id, owner, acquisition);
    this.#claims.set(id, claim);
    return claim;
  }

  #remove(claim: Claim): void {
    claim.state = 'over';
    this.#claims.delete(claim.id);
    if (this.empty) this.#session.emptied();
  }

  /** Returns the held ones first. */
  removeAll(): Claim[] {
    const claims = [...this.in('held'), ...this.in('requested')];
    for (const claim of claims) this.#remove(claim);
    return claims;
  }

  /** Requests a claim's keys, or how the request stands. */
  lock(claim: Claim): void {
    if (claim.locking !== 'no') {
      claim.locking = 'again';
      return;
    }
    claim.locking = 'once';
    const { id, keys, owner, acquisition } = claim;
    this.#session.send({
      operation: () => {
        // The reply is newer than all that arrived before the operation is sent, or sent again.
        claim.locking = claim.state === 'requested' ? 'once' : 'no';
        if (claim.state !== 'requested') return undefined;
        const { tokens } = owner;
        return {
          name: 'lock',
          id,
          tokens,
          wait: acquisition.wait,
          keys,
          optional: claim.chooseOptional(),
          ...(acquisition.share === undefined ? {} : { share: acquisition.share }),
        };
      },
      done: (result, continuity) => {
        const outdated = claim.locking === 'again';
        claim.locking = 'no';
        if (result.name === 'held') {
          this.grant(result.grant, continuity);
        } else if (result.name === 'queued') {
          if (outdated && claim.state === 'requested') this.lock(claim);
          this.#session.queuedFor(result.left);
        } else if (claim.state === 'requested') {
          this.#remove(claim);
          owner.dropped(claim);
          acquisition.miss();
        }
      },
      failed: (error) => {
        claim.locking = 'no';
        this.refuse(claim, error);
      },
      lost: () => {
        claim.locking = 'no';
      },
    });
  }

  #check(claim: Claim): void {
    this.#session.send({
      operation: () =>
        claim.state === 'held'
          ? { name: 'check', id: claim.id, keys: [...claim.owned] }
          : undefined,
      done: (result) => {
        if (result.name !== 'check' || claim.state !== 'held') return;
        if (!result.held) {
          // The rest of the lock is useless.
          void this.unlock(claim.id, [...claim.owned]);
          this.#lose(claim, 'the server no longer has the lock');
        } else if (result.contended) {
          claim.owner.revoked?.(claim);
        }
      },
      failed: () => {},
      lost: () => {},
    });
  }

  recheck(): void {
    for (const claim of this.in('requested')) this.lock(claim);
    for (const claim of this.in('held')) this.#check(claim);
  }

  /**
   * Gives keys of a claim back, and removes the claim without keys. Resolves when the server has replied, or when the
   * session has ended, which has the same effect.
   */
  giveBack(claim: Claim, keys: readonly string[]): Promise<void> {
    if (claim.state === 'over') return Promise.resolve();
    for (const key of keys) claim.owned.delete(key);
    // The server may already have granted the request, including its optional keys.
    const freed = claim.state === 'requested' ? claim.wanted : keys;
    if (claim.owned.size === 0) this.#remove(claim);
    return this.unlock(claim.id, freed);
  }

  /** Frees keys. Counts as a held lock until the server has replied, so that `drain` waits for it. */
  unlock(id: string, keys: readonly string[]): Promise<void> {
    const session = this.#session;
    const { activity } = this.#metrics;
    activity.count(0, 1);
    return new Promise((resolve) => {
      const over = (): void => {
        activity.count(0, -1);
        resolve();
      };
      const unlock: PendingOperation = {
        operation: () => ({ name: 'unlock', id, keys }),
        done: over,
        // The server keeps the keys while it knows the session, so a refused operation is repeated.
        failed: () => {
          const current = id.startsWith(`${session.id}/`);
          if (current && session.lease.left > 0) {
            setTimeout(() => session.send(unlock), session.ttl / 3).unref();
            return;
          }
          if (current) session.lose('its lease ended before it was released');
          over();
        },
        lost: over,
      };
      session.send(unlock);
    });
  }

  /** `continuity`: of the announcements of a loss, at the grant. */
  grant(grant: Grant, continuity: number): void {
    const claim = this.#claims.get(grant.id);
    if (claim?.state !== 'requested') return;
    if (grant.extra.length > 0 && !claim.mayHave(grant.extra)) {
      this.#metrics.malformedMessages++;
      return;
    }
    const session = this.#session;
    if (!session.lease.lasting) {
      // The grant took as long as the lease, so the server may have ended the session.
      session.renewSoon();
      this.lock(claim);
      return;
    }
    if (continuity === 0 || continuity !== session.continuity) {
      session.listenForLoss().then(
        () => {
          if (session.continuity !== 0) this.lock(claim);
        },
        (error) => session.refuse(error),
      );
      return;
    }
    if (grant.token <= claim.taken) {
      // The grant has been taken by `forceUnlock`.
      this.lock(claim);
      return;
    }
    claim.hold(grant);
    this.#highest = Math.max(this.#highest, grant.token);
    this.#metrics.grants++;
    claim.owner.granted(claim, { ...grant, contended: claim.revokedEarly || grant.contended });
  }

  receive(message: Exclude<Message, { name: 'lost' }>): void {
    const claim = this.#claims.get(message.name === 'held' ? message.grant.id : message.id);
    if (claim === undefined) return;
    if (message.name === 'held') {
      const { continuity } = this.#session;
      // A later message that arrived with this one may take the lock. Then the grant reaches no caller.
      nextMicrotask.then(() => this.#heard(claim, message.grant, continuity));
    } else if (message.name === 'revoke') {
      // It may arrive before the reply with the grant.
      if (claim.state === 'held') claim.owner.revoked?.(claim);
      else claim.revokedEarly = true;
    } else if (claim.state === 'requested') {
      claim.taken = message.token;
    } else if (claim.token <= message.token) {
      this.#lose(claim, 'the lock was taken by forceUnlock');
    }
  }

  #heard(claim: Claim, grant: Grant, continuity: number): void {
    if (claim.state !== 'requested') return;
    if (grant.token <= this.#highest) {
      // A reply has overtaken the message, or the message is a replay: the server decides.
      this.lock(claim);
      return;
    }
    // The server has just granted a claim of the session, so it knows the session.
    this.#session.confirm(continuity);
    this.grant(grant, continuity);
  }

  #lose(claim: Claim, reason: string): void {
    this.#remove(claim);
    this.#metrics.losses++;
    claim.owner.lost(claim, new LockLostError(this.#session.label + reason));
  }

  refuse(claim: Claim, error: StoreError): void {
    if (claim.state !== 'requested') return;
    // The server may have granted it before it refused a later operation of the batch.
    void this.unlock(claim.id, claim.wanted);
    this.#remove(claim);
    claim.owner.dropped(claim);
    claim.acquisition.refuse(error);
  }
}
