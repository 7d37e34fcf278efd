/**
 * Turns of one process that hand keys on among themselves, without the server.
 *
 * Every key has a line of the turns that want it. A turn stands in the lines of all its keys at once,
 * and goes in when it is at the front of each and this process owns all of the keys. Only a turn at all
 * fronts asks the server, so a process never waits for a key that none of its foremost turns needs;
 * along with its own keys it takes those that the turns behind it want, if they are free.
 *
 * Invariants:
 * - Turns that share a key go in in the order in which they came.
 * - A key is owned through one claim, and by the time a claim is asked for, nothing else that the same
 *   turn needs is kept back: there is no holding while waiting.
 * - When somebody elsewhere waits for a claim, what nobody here wants goes back at once, and all that
 *   nobody is inside with when a slice of time is over; but each claim serves at least one turn.
 * - After a burst of hand-overs the event loop gets its turn, or news from the server would never be
 *   read: a lock that is released at once never leaves the microtask queue by itself.
 *
 * Cost: a hand-over is a node per key, a guard and the two promises of whoever awaits it; no command.
 */

import type { LockLostError, RedisLockError } from './errors.js';
import type { Metrics } from './metrics.js';
import type { Grant } from './protocol/protocol.js';
import type { Claim, Session } from './session.js';
import type { Queue, Turn } from './turn.js';

/** Milliseconds for which a process may go on handing over after somebody elsewhere has asked. */
const SLICE = 5;
/** Hand-overs before the event loop gets its turn. */
const BURST = 64;
/** Tokens that come with each claim, and how many are fetched when these run out. */
const TOKENS = 64;
const MORE_TOKENS = 4096;
/** How many turns are looked at for further keys, and how many keys one claim takes along. */
const LOOK = 64;

/** A key's line. */
interface Line {
  readonly key: string;
  first: Place | undefined;
  last: Place | undefined;
  /** Through which this process owns the key. */
  claim: LocalClaim | undefined;
  /** Whether the first is inside, or about to be. */
  taken: boolean;
}

interface Place {
  readonly turn: Turn;
  readonly line: Line;
  previous: Place | undefined;
  next: Place | undefined;
}

/** What the queue knows of a turn. */
interface Standing {
  readonly places: readonly Place[];
  /** In how many lines somebody stands in front. */
  behind: number;
  /** Asked for, and not granted yet. */
  claim: LocalClaim | undefined;
}

class LocalClaim implements Claim {
  readonly tokens = TOKENS;
  readonly revocable = true;
  readonly lines = new Set<Line>();
  readonly #queue: LocalQueue;
  readonly turn: Turn;
  served = 0;
  /** Until when it may be handed on; undefined while nobody elsewhere waits. */
  deadline: number | undefined;

  constructor(queue: LocalQueue, turn: Turn) {
    this.#queue = queue;
    this.turn = turn;
  }

  get keys(): readonly string[] {
    return this.turn.keys;
  }

  get owned(): readonly string[] {
    return [...this.lines].map(({ key }) => key);
  }

  get wait(): boolean {
    return this.turn.wait;
  }

  get usable(): boolean {
    return this.deadline === undefined || this.served === 0 || performance.now() < this.deadline;
  }

  optional(): readonly string[] {
    return this.#queue._wantedBehind(this.turn);
  }

  granted(grant: Grant): void {
    this.#queue._granted(this, grant);
  }

  busy(): void {
    this.#queue._dropped(this);
    this.turn.miss();
  }

  revoked(): void {
    this.#queue._revoked(this);
  }

  lost(error: LockLostError): void {
    this.#queue._lost(this, error);
  }

  refused(error: RedisLockError): void {
    this.#queue._dropped(this);
    this.turn.refuse(error);
  }
}

export class LocalQueue implements Queue {
  readonly session: Session;
  readonly #metrics: Metrics;
  readonly #lines = new Map<string, Line>();
  readonly #standings = new Map<Turn, Standing>();
  /** Owned keys that nobody here wants at the moment. */
  readonly #idle = new Set<Line>();
  #idleScheduled = false;
  #burst = 0;
  /** Turns that go in when the event loop has had its turn. */
  #deferred: Turn[] = [];
  #nextToken = 0;
  #lastToken = -1;
  #reserving = false;
  /** Turns that go in when there are tokens, or when the lease is beyond doubt. */
  #stalled: Turn[] = [];

  constructor(session: Session, metrics: Metrics) {
    this.session = session;
    this.#metrics = metrics;
  }

  get turns(): Iterable<Turn> {
    return this.#standings.keys();
  }

  /** Who stands in a key's line, the first first. */
  *turnsOf(key: string): Iterable<Turn> {
    for (let place = this.#lines.get(key)?.first; place !== undefined; place = place.next) {
      yield place.turn;
    }
  }

  enter(turn: Turn): void {
    if (!turn.wait && turn.keys.some((key) => this.#lines.get(key)?.first !== undefined)) {
      turn.miss();
      return;
    }
    const places: Place[] = [];
    const standing: Standing = { places, behind: 0, claim: undefined };
    for (const key of turn.keys) {
      const line = this.#lineOf(key);
      const place: Place = { turn, line, previous: line.last, next: undefined };
      if (line.last === undefined) {
        line.first = place;
      } else {
        line.last.next = place;
        standing.behind++;
      }
      line.last = place;
      places.push(place);
    }
    this.#standings.set(turn, standing);
    this.#consider(turn, standing);
  }

  leave(turn: Turn): Promise<void> {
    const standing = this.#standings.get(turn);
    if (standing === undefined) return Promise.resolve();
    const { claim } = standing;
    this.#remove(turn, standing);
    if (claim !== undefined) void this.session.giveBack(claim, claim.keys, true);
    return this.#settleAll(standing);
  }

  /** Gives back what a turn that has left needed of its keys. */
  #settleAll(standing: Standing): Promise<void> {
    const claims = new Set<LocalClaim>();
    for (const { line } of standing.places) if (line.claim !== undefined) claims.add(line.claim);
    if (claims.size === 1) for (const only of claims) return this.#settle(only);
    return Promise.all([...claims].map((each) => this.#settle(each))).then(() => {});
  }

  /** @internal The server has granted a claim. */
  _granted(claim: LocalClaim, { token, contended, extra }: Grant): void {
    if (token > this.#nextToken) {
      this.#nextToken = token;
      this.#lastToken = token + TOKENS - 1;
    }
    if (contended) this.#limit(claim);
    const asking = this.#standings.get(claim.turn);
    if (asking?.claim === claim) asking.claim = undefined;
    for (const key of [...claim.keys, ...extra]) {
      const line = this.#lineOf(key);
      line.claim = claim;
      claim.lines.add(line);
    }
    for (const line of claim.lines) this.#considerFirst(line);
    void this.#settle(claim);
  }

  /** @internal Somebody elsewhere waits for a key of this claim. */
  _revoked(claim: LocalClaim): void {
    if (claim.deadline !== undefined) return;
    this.#metrics.revocations++;
    this.#limit(claim);
    void this.#settle(claim);
  }

  /** @internal A claim that was held or asked for exists no more. */
  _lost(claim: LocalClaim, error: LockLostError): void {
    const lines = [...claim.lines];
    claim.lines.clear();
    const asking = this.#standings.get(claim.turn);
    if (asking?.claim === claim) asking.claim = undefined;
    for (const line of lines) line.claim = undefined;
    for (const line of lines) {
      const turn = line.taken ? line.first?.turn : undefined;
      const standing = turn && this.#standings.get(turn);
      if (turn === undefined || standing === undefined) continue;
      if (turn.state === 'inside') {
        this.#remove(turn, standing);
        turn.lose(error);
      } else {
        // It was about to go in.
        for (const place of standing.places) place.line.taken = false;
        this.#consider(turn, standing);
      }
    }
    // If its turn was inside, that is over.
    const still = this.#standings.get(claim.turn);
    if (still !== undefined) this.#consider(claim.turn, still);
    for (const line of lines) this.#tidy(line);
  }

  /** @internal A claim was refused: its turn leaves, the others go on. */
  _dropped(claim: LocalClaim): void {
    const standing = this.#standings.get(claim.turn);
    if (standing === undefined) return;
    standing.claim = undefined;
    this.#remove(claim.turn, standing);
    void this.#settleAll(standing);
  }

  /** @internal Keys that the turns behind this one want. */
  _wantedBehind(turn: Turn): readonly string[] {
    const keys = new Set(turn.keys);
    let looked = 0;
    for (const key of keys) {
      for (let place = this.#lines.get(key)?.first; place !== undefined; place = place.next) {
        if (++looked > LOOK) break;
        for (const { line } of this.#standings.get(place.turn)?.places ?? []) {
          if (line.claim === undefined && keys.size < turn.keys.length + LOOK) keys.add(line.key);
        }
      }
    }
    return [...keys].slice(turn.keys.length);
  }

  #lineOf(key: string): Line {
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = { key, first: undefined, last: undefined, claim: undefined, taken: false };
      this.#lines.set(key, line);
    }
    return line;
  }

  /** Forgets a line that nobody stands in and that is not owned. */
  #tidy(line: Line): void {
    if (line.first === undefined && line.claim === undefined) this.#lines.delete(line.key);
  }

  #considerFirst(line: Line): void {
    const turn = line.first?.turn;
    const standing = turn && this.#standings.get(turn);
    if (turn !== undefined && standing !== undefined) this.#consider(turn, standing);
  }

  /** Lets a turn in, or asks the server for its keys, if it is at the front of all its lines. */
  #consider(turn: Turn, standing: Standing): void {
    const { places } = standing;
    if (standing.behind > 0 || (places[0] as Place).line.taken) return;
    if (places.every(({ line }) => line.claim?.usable)) {
      if (standing.claim !== undefined) {
        // Its keys came another way.
        void this.session.giveBack(standing.claim, turn.keys, true);
        standing.claim = undefined;
      }
      for (const { line } of places) line.taken = true;
      if (this.#burst++ === 0) setImmediate(() => this.#nextBurst());
      if (this.#burst <= BURST) this.#admit(turn);
      else this.#deferred.push(turn);
    } else if (standing.claim === undefined) {
      void this.#release(places.map(({ line }) => line).filter(({ claim }) => claim !== undefined));
      standing.claim = new LocalClaim(this, turn);
      this.session.ask(standing.claim);
    }
  }

  #nextBurst(): void {
    const turns = this.#deferred;
    this.#deferred = [];
    this.#burst = turns.length;
    if (turns.length > 0) setImmediate(() => this.#nextBurst());
    for (const turn of turns) this.#admit(turn);
  }

  /** The last step on the way in; the turn's lines are taken for it. */
  #admit(turn: Turn): void {
    const standing = this.#standings.get(turn);
    // It may have given up, or lost its keys, since.
    if (standing === undefined || turn.state !== 'waiting') return;
    if (!standing.places.every(({ line }) => line.claim !== undefined && line.taken)) return;
    if (!this.session.checkLease() || !this.session.lease.lasting) {
      // Lost: then it has been considered anew. In doubt, or short: the server is asked first.
      if (standing.places.every(({ line }) => line.claim !== undefined)) {
        this.#stalled.push(turn);
        this.session.renew().then(
          () => this.#admitStalled(),
          () => this.#admitLater(),
        );
      }
      return;
    }
    if (this.#lastToken - this.#nextToken < TOKENS / 2) this.#reserve();
    if (this.#nextToken > this.#lastToken) {
      this.#stalled.push(turn);
      return;
    }
    if (((standing.places[0] as Place).line.claim as LocalClaim).served > 0) {
      this.#metrics.handOffs++;
    }
    for (const { line } of standing.places) (line.claim as LocalClaim).served++;
    turn.start(this.#nextToken++);
  }

  #admitStalled(): void {
    const turns = this.#stalled;
    this.#stalled = [];
    for (const turn of turns) this.#admit(turn);
  }

  /** The server has refused what they need: whoever stands at the door asks again. */
  #admitLater(): void {
    setTimeout(() => this.#admitStalled(), this.session.ttl / 3).unref();
  }

  #reserve(): void {
    if (this.#reserving) return;
    this.#reserving = true;
    this.session.number({ name: 'reserve', tokens: MORE_TOKENS }).then(
      (token) => {
        this.#reserving = false;
        if (token > this.#nextToken) {
          this.#nextToken = token;
          this.#lastToken = token + MORE_TOKENS - 1;
        }
        this.#admitStalled();
      },
      () => {
        this.#reserving = false;
        this.#admitLater();
      },
    );
  }

  /** Takes a turn out of its lines and considers those behind it. */
  #remove(turn: Turn, standing: Standing): void {
    this.#standings.delete(turn);
    const firsts: Turn[] = [];
    for (const place of standing.places) {
      const { line, previous, next } = place;
      if (next === undefined) line.last = previous;
      else next.previous = previous;
      if (previous !== undefined) {
        previous.next = next;
        continue;
      }
      line.first = next;
      line.taken = false;
      if (next === undefined) {
        this.#tidy(line);
      } else if (--(this.#standings.get(next.turn) as Standing).behind === 0) {
        firsts.push(next.turn);
      }
    }
    for (const first of firsts) this.#consider(first, this.#standings.get(first) as Standing);
  }

  /** Lets a claim be handed on for a slice of time, and no longer also if somebody stays inside. */
  #limit(claim: LocalClaim): void {
    claim.deadline = performance.now() + SLICE;
    setTimeout(() => void this.#settle(claim), SLICE + 1).unref();
  }

  /** Gives back what this process may not or need not keep of a claim. */
  #settle(claim: LocalClaim): Promise<void> {
    const free = [...claim.lines].filter(({ taken }) => !taken);
    const inside = free.length < claim.lines.size;
    const unwanted = free.filter(({ first }) => first === undefined);
    if (claim.deadline !== undefined) {
      return this.#release(inside && claim.usable ? unwanted : free);
    }
    if (!inside && unwanted.length === free.length) return this.#release(free);
    for (const line of unwanted) this.#releaseSoon(line);
    return Promise.resolve();
  }

  /** Gives a key back unless somebody wants it before the event loop comes round. */
  #releaseSoon(line: Line): void {
    this.#idle.add(line);
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
  #release(lines: readonly Line[]): Promise<void> {
    let done = Promise.resolve();
    while (lines.length > 0) {
      const claim = (lines[0] as Line).claim as LocalClaim;
      const together = lines.filter((line) => line.claim === claim);
      lines = lines.filter((line) => line.claim !== claim);
      for (const line of together) {
        line.claim = undefined;
        claim.lines.delete(line);
        this.#tidy(line);
      }
      const keys = together.map(({ key }) => key);
      done = this.session.giveBack(claim, keys, claim.lines.size === 0);
    }
    return done;
  }
}
