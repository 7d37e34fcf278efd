/**
 * Acquisitions of one process that hand keys on among themselves, without the server.
 *
 * An acquisition gets the lock when it is at the front of the queues of all its keys and this process
 * owns all of the keys. Only one at all fronts asks the server, so a process never waits for a key that
 * none of its foremost acquisitions needs; along with its own keys it takes those that the ones behind
 * it want, if they are free.
 *
 * Invariants:
 * - Acquisitions that share a key are served in the order in which they came.
 * - A key is owned through one claim, and by the time a claim is asked for, nothing else that the same
 *   acquisition needs is kept back: there is no holding while waiting.
 * - When somebody elsewhere waits for a claim, what nobody here wants goes back at once, and all that
 *   nobody holds when a slice of time is over; but each claim serves at least one acquisition.
 * - After a burst of hand-overs the event loop gets its turn, or news from the server would never be
 *   read: a lock that is released at once never leaves the microtask queue by itself.
 *
 * Cost: a hand-over is a node per key, a guard and the two promises of whoever awaits it; no command.
 */

import type { Acquisition, Queue } from '../acquisition.js';
import type { LockLostError } from '../errors.js';
import type { Metrics } from '../metrics.js';
import type { Grant } from '../protocol/protocol.js';
import type { LocalWaiter } from '../query.js';
import type { Session } from '../session/session.js';
import { KeyQueues, type Standing } from './key-queues.js';
import { type ClaimOwner, type KeyQueue, LocalClaim } from './local-claim.js';
import { TOKENS, Tokens } from './tokens.js';

/** Milliseconds for which a process may go on handing over after somebody elsewhere has asked. */
const SLICE = 5;
/** Hand-overs before the event loop gets its turn. */
const BURST = 64;

export class LocalQueue implements Queue, ClaimOwner {
  readonly session: Session;
  readonly #metrics: Metrics;
  readonly #queues = new KeyQueues();
  readonly #tokens: Tokens;
  /** Owned keys that nobody here wants at the moment. */
  readonly #idle = new Set<KeyQueue>();
  #idleScheduled = false;
  #burst = 0;
  /** Those that are let in when the event loop has had its turn. */
  #deferred: Acquisition[] = [];
  /** Those that are let in when there are tokens, or when the lease is beyond doubt. */
  #stalled: Acquisition[] = [];

  constructor(session: Session, metrics: Metrics) {
    this.session = session;
    this.#tokens = new Tokens(
      session,
      () => this.#admitStalled(),
      () => this.#admitLater(),
    );
    this.#metrics = metrics;
  }

  get acquisitions(): Iterable<Acquisition> {
    return this.#queues.acquisitions;
  }

  /** Who waits, the first first. */
  get waiters(): LocalWaiter[] {
    const session = this.session.id;
    return [...this.acquisitions]
      .filter(({ state }) => state === 'waiting')
      .map((acquisition) => {
        const claim = this.#queues.of(acquisition)?.claim;
        return { keys: acquisition.keys, session, id: claim && this.session.idOf(claim) };
      });
  }

  acquisitionsOf(key: string): Iterable<Acquisition> {
    return this.#queues.in(key);
  }

  enter(acquisition: Acquisition): void {
    if (!acquisition.wait && acquisition.keys.some((key) => this.#queues.isWanted(key))) {
      acquisition.miss();
      return;
    }
    this.#consider(acquisition, this.#queues.add(acquisition));
  }

  leave(acquisition: Acquisition): Promise<void> {
    const standing = this.#queues.of(acquisition);
    if (standing === undefined) return Promise.resolve();
    const { claim } = standing;
    this.#remove(acquisition, standing);
    if (claim !== undefined) void this.session.giveBack(claim, claim.keys, true);
    return this.#settleAll(standing);
  }

  /** Settles all claims of whoever has left. */
  #settleAll(standing: Standing): Promise<void> {
    const claims = new Set<LocalClaim>();
    for (const { queue } of standing.entries)
      if (queue.claim !== undefined) claims.add(queue.claim);
    if (claims.size === 1) for (const only of claims) return this.#settle(only);
    return Promise.all([...claims].map((each) => this.#settle(each))).then(() => {});
  }

  granted(claim: LocalClaim, { token, contended, extra }: Grant): void {
    this.#tokens.add(token, TOKENS);
    if (contended) this.#limit(claim);
    const asking = this.#queues.of(claim.acquisition);
    if (asking?.claim === claim) asking.claim = undefined;
    for (const key of [...claim.keys, ...extra]) {
      const queue = this.#queues.queueOf(key);
      queue.claim = claim;
      claim.queues.add(queue);
    }
    for (const queue of claim.queues) this.#considerFirst(queue);
    void this.#settle(claim);
  }

  revoked(claim: LocalClaim): void {
    if (claim.deadline !== undefined) return;
    this.#metrics.revocations++;
    this.#limit(claim);
    void this.#settle(claim);
  }

  lost(claim: LocalClaim, error: LockLostError): void {
    const queues = [...claim.queues];
    claim.queues.clear();
    const asking = this.#queues.of(claim.acquisition);
    if (asking?.claim === claim) asking.claim = undefined;
    for (const queue of queues) queue.claim = undefined;
    for (const queue of queues) {
      const acquisition = queue.taken ? queue.first?.acquisition : undefined;
      const standing = acquisition && this.#queues.of(acquisition);
      if (acquisition === undefined || standing === undefined) continue;
      if (acquisition.state === 'held') {
        this.#remove(acquisition, standing);
        acquisition.lose(error);
      } else {
        // It was about to be let in.
        for (const entry of standing.entries) entry.queue.taken = false;
        this.#consider(acquisition, standing);
      }
    }
    // Unless it held the lock, which is over.
    const still = this.#queues.of(claim.acquisition);
    if (still !== undefined) this.#consider(claim.acquisition, still);
    for (const queue of queues) this.#queues.tidy(queue);
  }

  dropped(claim: LocalClaim): void {
    const standing = this.#queues.of(claim.acquisition);
    if (standing === undefined) return;
    standing.claim = undefined;
    this.#remove(claim.acquisition, standing);
    void this.#settleAll(standing);
  }

  wantedBehind(acquisition: Acquisition): readonly string[] {
    return this.#queues.wantedBehind(acquisition);
  }

  #considerFirst(queue: KeyQueue): void {
    const acquisition = queue.first?.acquisition;
    const standing = acquisition && this.#queues.of(acquisition);
    if (acquisition !== undefined && standing !== undefined) this.#consider(acquisition, standing);
  }

  /** Lets it in, or asks the server for its keys, if it is at the front of all its queues. */
  #consider(acquisition: Acquisition, standing: Standing): void {
    const { entries } = standing;
    if (standing.behind > 0 || entries[0]?.queue.taken) return;
    if (entries.every(({ queue }) => queue.claim?.usable)) {
      if (standing.claim !== undefined) {
        // Its keys came another way.
        void this.session.giveBack(standing.claim, acquisition.keys, true);
        standing.claim = undefined;
      }
      for (const { queue } of entries) queue.taken = true;
      if (this.#burst++ === 0) setImmediate(() => this.#nextBurst());
      if (this.#burst <= BURST) this.#admit(acquisition);
      else this.#deferred.push(acquisition);
    } else if (standing.claim === undefined) {
      void this.#release(
        entries.map(({ queue }) => queue).filter(({ claim }) => claim !== undefined),
      );
      standing.claim = new LocalClaim(this, acquisition);
      this.session.ask(standing.claim);
    }
  }

  #nextBurst(): void {
    const acquisitions = this.#deferred;
    this.#deferred = [];
    this.#burst = acquisitions.length;
    if (acquisitions.length > 0) setImmediate(() => this.#nextBurst());
    for (const acquisition of acquisitions) this.#admit(acquisition);
  }

  /** The last step on the way in; its queues are taken for it. */
  #admit(acquisition: Acquisition): void {
    const standing = this.#queues.of(acquisition);
    // It may have given up, or lost its keys, since.
    if (standing === undefined || acquisition.state !== 'waiting') return;
    if (!standing.entries.every(({ queue }) => queue.claim !== undefined && queue.taken)) return;
    if (!this.session.checkLease() || !this.session.lease.lasting) {
      // Lost: then it has been considered anew. In doubt, or short: the server is asked first.
      if (standing.entries.every(({ queue }) => queue.claim !== undefined)) {
        this.#stalled.push(acquisition);
        this.session.renew().then(
          () => this.#admitStalled(),
          () => this.#admitLater(),
        );
      }
      return;
    }
    const token = this.#tokens.take();
    if (token === undefined) {
      this.#stalled.push(acquisition);
      return;
    }
    if (standing.entries[0]?.queue.claim?.served) this.#metrics.handOffs++;
    for (const { queue } of standing.entries) (queue.claim as LocalClaim).served++;
    acquisition.start(token);
  }

  #admitStalled(): void {
    const acquisitions = this.#stalled;
    this.#stalled = [];
    for (const acquisition of acquisitions) this.#admit(acquisition);
  }

  /** The server has refused what they need: whoever is about to be let in asks again. */
  #admitLater(): void {
    setTimeout(() => this.#admitStalled(), this.session.ttl / 3).unref();
  }

  /** Takes it out of its queues and considers those behind it. */
  #remove(acquisition: Acquisition, standing: Standing): void {
    for (const first of this.#queues.delete(acquisition, standing)) {
      this.#consider(first, this.#queues.of(first) as Standing);
    }
  }

  /** Lets a claim be handed on for a slice of time, also if somebody here goes on holding a key of it. */
  #limit(claim: LocalClaim): void {
    claim.deadline = performance.now() + SLICE;
    setTimeout(() => void this.#settle(claim), SLICE + 1).unref();
  }

  /** Gives back what this process may not or need not keep of a claim. */
  #settle(claim: LocalClaim): Promise<void> {
    const free = [...claim.queues].filter(({ taken }) => !taken);
    const held = free.length < claim.queues.size;
    const unwanted = free.filter(({ first }) => first === undefined);
    if (claim.deadline !== undefined) {
      return this.#release(held && claim.usable ? unwanted : free);
    }
    if (!held && unwanted.length === free.length) return this.#release(free);
    for (const queue of unwanted) this.#releaseSoon(queue);
    return Promise.resolve();
  }

  /** Gives a key back unless somebody wants it before the event loop comes round. */
  #releaseSoon(queue: KeyQueue): void {
    this.#idle.add(queue);
    if (this.#idleScheduled) return;
    this.#idleScheduled = true;
    setImmediate(() => {
      this.#idleScheduled = false;
      const idle = [...this.#idle].filter(({ first, claim }) => !first && claim);
      this.#idle.clear();
      void this.#release(idle);
    });
  }

  /** Resolves when the server has the last of them, and so all. */
  #release(queues: readonly KeyQueue[]): Promise<void> {
    let done = Promise.resolve();
    while (queues.length > 0) {
      const claim = (queues[0] as KeyQueue).claim as LocalClaim;
      const together = queues.filter((queue) => queue.claim === claim);
      queues = queues.filter((queue) => queue.claim !== claim);
      for (const queue of together) {
        queue.claim = undefined;
        claim.queues.delete(queue);
        this.#queues.tidy(queue);
      }
      const keys = together.map(({ key }) => key);
      done = this.session.giveBack(claim, keys, claim.queues.size === 0);
    }
    return done;
  }
}
