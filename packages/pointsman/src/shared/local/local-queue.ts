/**
 * The queue of the mode `local`: acquisitions of one process hand keys over to each other without the server.
 *
 * An acquisition is admitted when it is the first in the queues of all its keys and this process owns the keys. Only such
 * a first one requests a claim, with the keys that the acquisitions behind it want as optional keys.
 *
 * Invariants:
 * - Acquisitions that share a key are served in the order of their calls.
 * - A key is owned through one claim. Before an acquisition requests a claim, every key of it that is owned is given
 *   back, so no process holds keys while it waits.
 * - When another process waits for a claim, its keys without a waiter here go back at once, and all that are not held
 *   after a slice of time. Each claim admits at least one acquisition.
 * - After a burst of hand-overs the event loop runs. A lock that is released at once never leaves the microtask queue,
 *   and messages from the server would not be read.
 *
 * Cost: a hand-over creates a node per key, a guard and the two promises of the caller, and sends no command.
 */

import type { Acquisition, Queue } from '../acquisition.js';
import type { LockLostError } from '../errors.js';
import type { Metrics } from '../metrics.js';
import type { Grant } from '../protocol/protocol.js';
import type { LocalWaiter } from '../query.js';
import type { Claim, ClaimOwner } from '../session/claims.js';
import type { Session } from '../session/session.js';
import { type KeyQueue, KeyQueues, type Positions } from './key-queues.js';

/** Milliseconds of hand-overs after another process begins to wait. */
const SLICE = 5;
/** Hand-overs before the event loop runs. */
const BURST = 64;
/** Tokens reserved with each claim, and by one `reserve` operation. */
const CLAIM_TOKENS = 64;
const RESERVED_TOKENS = 4096;

export class LocalQueue implements Queue, ClaimOwner {
  readonly session: Session;
  readonly tokens = CLAIM_TOKENS;
  readonly revocable = true;
  readonly #metrics: Metrics;
  readonly #queues = new KeyQueues();
  readonly #reserve: TokenReserve;
  /** Owned keys without a waiter here. */
  readonly #idle = new Set<KeyQueue>();
  #idleScheduled = false;
  #burst = 0;
  /** Acquisitions to admit after the event loop has run. */
  #deferred: Acquisition[] = [];
  /** Acquisitions to admit when there are tokens, or when the lease is beyond doubt. */
  #stalled: Acquisition[] = [];

  constructor(session: Session, metrics: Metrics) {
    this.session = session;
    this.#reserve = new TokenReserve(
      session,
      () => this.#admitStalled(),
      () => this.#admitLater(),
    );
    this.#metrics = metrics;
  }

  get acquisitions(): Iterable<Acquisition> {
    return this.#queues.acquisitions;
  }

  get waiters(): LocalWaiter[] {
    const session = this.session.id;
    return [...this.acquisitions]
      .filter(({ state }) => state === 'waiting')
      .map((acquisition) => {
        const id = this.#queues.of(acquisition)?.claim?.id;
        return { keys: acquisition.keys, session, id };
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
    const positions = this.#queues.of(acquisition);
    if (positions === undefined) return Promise.resolve();
    const { claim } = positions;
    this.#remove(acquisition, positions);
    if (claim !== undefined) void this.session.claims.giveBack(claim, claim.keys);
    return this.#settleAll(positions);
  }

  #settleAll({ nodes }: Positions): Promise<void> {
    const claims = new Set<Claim>();
    for (const { queue } of nodes) if (queue.claim !== undefined) claims.add(queue.claim);
    if (claims.size === 1) for (const only of claims) return this.#settle(only);
    return Promise.all([...claims].map((each) => this.#settle(each))).then(() => {});
  }

  granted(claim: Claim, { token, contended }: Grant): void {
    this.#reserve.add(token, CLAIM_TOKENS);
    if (contended) this.#limit(claim);
    const waiting = this.#queues.of(claim.acquisition);
    if (waiting?.claim === claim) waiting.claim = undefined;
    const queues = this.#queuesOf(claim);
    for (const queue of queues) queue.claim = claim;
    for (const queue of queues) this.#considerFirst(queue);
    void this.#settle(claim);
  }

  revoked(claim: Claim): void {
    if (claim.deadline !== undefined) return;
    this.#metrics.revocations++;
    this.#limit(claim);
    void this.#settle(claim);
  }

  lost(claim: Claim, error: LockLostError): void {
    const queues = this.#queuesOf(claim);
    claim.owned.clear();
    const waiting = this.#queues.of(claim.acquisition);
    if (waiting?.claim === claim) waiting.claim = undefined;
    // Before any abort listener runs: a listener may request the same keys, in a new queue.
    for (const queue of queues) {
      queue.claim = undefined;
      this.#queues.tidy(queue);
    }
    for (const queue of queues) {
      const acquisition = queue.busy ? queue.first?.acquisition : undefined;
      const positions = acquisition && this.#queues.of(acquisition);
      if (acquisition === undefined || positions === undefined) continue;
      if (acquisition.state === 'held') {
        this.#remove(acquisition, positions);
        acquisition.lose(error);
      } else {
        // It was being admitted.
        for (const node of positions.nodes) node.queue.busy = false;
        this.#consider(acquisition, positions);
      }
    }
    // It has no positions if it held the lock.
    const still = this.#queues.of(claim.acquisition);
    if (still !== undefined) this.#consider(claim.acquisition, still);
  }

  dropped(claim: Claim): void {
    const positions = this.#queues.of(claim.acquisition);
    if (positions === undefined) return;
    positions.claim = undefined;
    this.#remove(claim.acquisition, positions);
    void this.#settleAll(positions);
  }

  optionalFor(acquisition: Acquisition): readonly string[] {
    return this.#queues.wantedBehind(acquisition);
  }

  #queuesOf(claim: Claim): KeyQueue[] {
    return Array.from(claim.owned, (key) => this.#queues.queueOf(key));
  }

  #considerFirst(queue: KeyQueue): void {
    const acquisition = queue.first?.acquisition;
    const positions = acquisition && this.#queues.of(acquisition);
    if (acquisition !== undefined && positions !== undefined)
      this.#consider(acquisition, positions);
  }

  /** Admits an acquisition, or requests its keys, if it is the first in all its queues. */
  #consider(acquisition: Acquisition, positions: Positions): void {
    const { nodes } = positions;
    if (positions.behind > 0 || nodes[0]?.queue.busy) return;
    if (nodes.every(({ queue }) => queue.claim?.usable)) {
      if (positions.claim !== undefined) {
        // Another claim was granted its keys.
        void this.session.claims.giveBack(positions.claim, acquisition.keys);
        positions.claim = undefined;
      }
      for (const { queue } of nodes) queue.busy = true;
      if (this.#burst++ === 0) setImmediate(() => this.#nextBurst());
      if (this.#burst <= BURST) this.#admit(acquisition);
      else this.#deferred.push(acquisition);
    } else if (positions.claim === undefined) {
      void this.#release(
        nodes.map(({ queue }) => queue).filter(({ claim }) => claim !== undefined),
      );
      positions.claim = this.session.claims.add(this, acquisition);
      this.session.claims.lock(positions.claim);
    }
  }

  #nextBurst(): void {
    const acquisitions = this.#deferred;
    this.#deferred = [];
    this.#burst = acquisitions.length;
    if (acquisitions.length > 0) setImmediate(() => this.#nextBurst());
    for (const acquisition of acquisitions) this.#admit(acquisition);
  }

  /** Starts an acquisition whose queues are marked busy. */
  #admit(acquisition: Acquisition): void {
    const positions = this.#queues.of(acquisition);
    // It may have given up, or lost its keys, since.
    if (positions === undefined || acquisition.state !== 'waiting') return;
    const { nodes } = positions;
    if (!nodes.every(({ queue }) => queue.claim !== undefined && queue.busy)) return;
    if (!this.session.checkLease() || !this.session.lease.lasting) {
      // If the lease was lost just now, `lost` has considered the acquisition again. Otherwise the server is asked.
      if (nodes.every(({ queue }) => queue.claim !== undefined)) {
        this.#stalled.push(acquisition);
        this.session.renew().then(
          () => this.#admitStalled(),
          () => this.#admitLater(),
        );
      }
      return;
    }
    const token = this.#reserve.take();
    if (token === undefined) {
      this.#stalled.push(acquisition);
      return;
    }
    if (nodes[0]?.queue.claim?.served) this.#metrics.handOffs++;
    for (const { queue } of nodes) (queue.claim as Claim).served++;
    acquisition.start(token);
  }

  #admitStalled(): void {
    const acquisitions = this.#stalled;
    this.#stalled = [];
    for (const acquisition of acquisitions) this.#admit(acquisition);
  }

  /** Retries after the server has refused tokens or a renewal. */
  #admitLater(): void {
    setTimeout(() => this.#admitStalled(), this.session.ttl / 3).unref();
  }

  #remove(acquisition: Acquisition, positions: Positions): void {
    for (const first of this.#queues.delete(acquisition, positions)) {
      this.#consider(first, this.#queues.of(first) as Positions);
    }
  }

  /** Ends the use of a claim after a slice of time, even while one of its keys is held. */
  #limit(claim: Claim): void {
    claim.deadline = performance.now() + SLICE;
    setTimeout(() => void this.#settle(claim), SLICE + 1).unref();
  }

  /** Gives back the keys of a claim that this process need not or may not keep. */
  #settle(claim: Claim): Promise<void> {
    const free: KeyQueue[] = [];
    for (const key of claim.owned) {
      const queue = this.#queues.queueOf(key);
      if (!queue.busy) free.push(queue);
    }
    const held = free.length < claim.owned.size;
    const unwanted = free.filter(({ first }) => first === undefined);
    if (claim.deadline !== undefined) {
      return this.#release(held && claim.usable ? unwanted : free);
    }
    if (!held && unwanted.length === free.length) return this.#release(free);
    for (const queue of unwanted) this.#releaseSoon(queue);
    return Promise.resolve();
  }

  /** Gives a key back, unless it is requested before the event loop runs. */
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

  /** Resolves when the server has released the last of the keys; earlier operations are processed before. */
  #release(queues: readonly KeyQueue[]): Promise<void> {
    let done = Promise.resolve();
    while (queues.length > 0) {
      const claim = (queues[0] as KeyQueue).claim as Claim;
      const together = queues.filter((queue) => queue.claim === claim);
      queues = queues.filter((queue) => queue.claim !== claim);
      for (const queue of together) {
        queue.claim = undefined;
        this.#queues.tidy(queue);
      }
      done = this.session.claims.giveBack(
        claim,
        together.map(({ key }) => key),
      );
    }
    return done;
  }
}

/**
 * Fencing tokens reserved in advance, so that a hand-over needs no command.
 *
 * Invariant: tokens are issued in rising order, each once, and never below that of a later grant.
 */
class TokenReserve {
  readonly #session: Session;
  readonly #arrived: () => void;
  readonly #refused: () => void;
  #next = 0;
  #last = -1;
  #reserving = false;

  constructor(session: Session, arrived: () => void, refused: () => void) {
    this.#session = session;
    this.#arrived = arrived;
    this.#refused = refused;
  }

  /** Ignores tokens below those in reserve. */
  add(first: number, count: number): void {
    if (first <= this.#next) return;
    this.#next = first;
    this.#last = first + count - 1;
  }

  /** Issues a token, if there is one. */
  take(): number | undefined {
    if (this.#last - this.#next < CLAIM_TOKENS / 2) this.#request();
    return this.#next > this.#last ? undefined : this.#next++;
  }

  #request(): void {
    if (this.#reserving) return;
    this.#reserving = true;
    this.#session.number({ name: 'reserve', tokens: RESERVED_TOKENS }).then(
      (token) => {
        this.#reserving = false;
        this.add(token, RESERVED_TOKENS);
        this.#arrived();
      },
      () => {
        this.#reserving = false;
        this.#refused();
      },
    );
  }
}
