/**
 * The reference implementation of the protocol: what one batch does to the state of a namespace.
 *
 * The handler `pure` runs it in a transaction, and the Lua script is tested against it.
 *
 * Invariants, after each batch:
 * - A key is held by one request alone, or shared by requests whose weights are within its limit; each is of an existing
 *   session.
 * - The first request in the queue of a key cannot be granted all of its keys.
 * - Every token is higher than all tokens issued before it.
 * - The namespace's time never runs backwards. It advances only as far as the server's clock has moved and the sender of
 *   a batch confirms, so a jump of the server's clock cannot end the leases of live processes.
 */

import { applyCounters, isOfCounters } from './counters.js';
import {
  type Batch,
  type Grant,
  type Hold,
  type Message,
  type Operation,
  processOf,
  REVOCABLE,
  type Reply,
  type Request,
  type Result,
  type Share,
  sessionOf,
} from './protocol.js';
import { Starts, sweepStarts } from './starts.js';
import { type Clock, emptyState, RequestQueues, type State, type World } from './state.js';

/** Returns the names in the order in which the Lua script finds them. */
const sorted = (map: ReadonlyMap<string, unknown>): string[] => [...map.keys()].sort();

export function apply(state: State, batch: Batch, world: World): Reply {
  if (batch.join === 'none') return applyWithoutSession(state, batch, world);
  return new BatchExecution(state, batch, world).reply();
}

function applyWithoutSession({ limiters, counters }: State, batch: Batch, { now }: World): Reply {
  const { operations } = batch;
  if (isOfCounters(batch)) {
    const results = applyCounters(counters, operations, now);
    return { name: 'done', left: 0, time: 0, results, grants: [] };
  }
  const starts = new Starts(limiters, now);
  const results = operations.map((operation) => performStart(starts, operation));
  starts.end();
  sweepStarts(limiters, now);
  return { name: 'done', left: 0, time: 0, results, grants: [] };
}

function performStart(starts: Starts, operation: Operation): Result {
  switch (operation.name) {
    case 'start':
      return starts.start(operation);
    case 'correct':
      starts.correct(operation.groups, operation.at);
      break;
    case 'penalize':
      starts.penalize(operation.limiter, operation.time);
      break;
    default:
      throw new TypeError(`${operation.name} needs a session`);
  }
  return { name: 'number', value: 0 };
}

class BatchExecution {
  readonly #state: State;
  readonly #batch: Batch;
  readonly #world: World;
  readonly #clock: Clock;
  /** The namespace's time if all that has passed on the server's clock were counted. */
  #latest: number;
  readonly #queues: RequestQueues;
  /** Keys whose queue is to be served. */
  readonly #freed: string[] = [];
  /** Requests that could not be granted, with the number of freed keys then; retried after another key is freed. */
  readonly #tried = new Map<string, number>();
  readonly #grants: Grant[] = [];
  readonly #revoked = new Set<string>();
  /** Sessions whose process does not listen. */
  readonly #unreachable = new Set<string>();
  readonly #starts: Starts;

  constructor(state: State, batch: Batch, world: World) {
    this.#state = state;
    this.#batch = batch;
    this.#world = world;
    const now = Math.floor(world.now / 1000);
    this.#latest = now;
    if (state.clock === undefined) {
      const { limiters, counters } = state;
      Object.assign(state, { ...emptyState(), limiters, counters });
      this.#clock = { token: 0, time: now, seen: now, doubted: false, run: batch.run };
    } else {
      this.#clock = { ...state.clock };
      this.#advance(now);
    }
    this.#queues = world.queues?.(state.requests) ?? new RequestQueues(state.requests);
    this.#starts = new Starts(state.limiters, world.now);
  }

  /**
   * Advances the namespace's time. A span that has passed and is not confirmed yet may be counted later, so leases begin
   * after it.
   */
  #advance(now: number): void {
    const clock = this.#clock;
    const { session, ttl, time = 0, join, operations } = this.#batch;
    const passed = Math.max(now - clock.seen, 0);
    let step = Math.min(passed, Math.max(time - clock.time, 0));
    let rest = passed - step;
    // Whether the sender has had something to lose for a quarter of a lease. It cannot confirm an earlier span;
    // otherwise short-lived processes could stop the time.
    const lease = join === 'must' ? this.#state.sessions.get(session)?.expires : undefined;
    const established = lease !== undefined && lease - clock.time - passed <= (ttl * 3) / 4;
    if (rest > this.#longest()) {
      // No live session is silent for so long: the clock has jumped, or no session is live. The latter is certain if
      // it happens again before a session with something to lose has sent a batch.
      if (clock.doubted) step = passed;
      clock.doubted = true;
      rest = 0;
    } else if (established && operations.some(({ name }) => name === 'renew')) {
      rest = 0;
    }
    if (established) clock.doubted = false;
    clock.time += step;
    clock.seen = now - rest;
    this.#latest = clock.time + rest;
  }

  #longest(): number {
    return Math.max(this.#batch.ttl, ...[...this.#state.sessions.values()].map(({ ttl }) => ttl));
  }

  reply(): Reply {
    const { session, incarnation, join, ttl, secret, operations } = this.#batch;
    const known = this.#state.sessions.get(session);
    if (known !== undefined && incarnation < known.incarnation) return { name: 'stale' };
    if (join === 'must' && !this.#isLive(session)) return { name: 'lost' };
    if (this.#state.clock === undefined) {
      this.#begin();
    } else {
      this.#checkRun();
    }
    if (known !== undefined && !this.#isLive(session)) this.#end(session);
    this.#state.clock = this.#clock;
    const current = this.#state.sessions.get(session);
    if (
      current === undefined ||
      incarnation > current.incarnation ||
      current.expires - this.#latest < (ttl * 2) / 3 ||
      operations.some(({ name }) => name === 'renew')
    ) {
      const expires = this.#latest + ttl;
      this.#state.sessions.set(session, { expires, incarnation, ttl, secret });
    }
    const results = operations.map((operation) => this.#perform(operation));
    this.#settle();
    const { sessions, guard } = this.#state;
    const left = (sessions.get(session)?.expires ?? this.#latest) - this.#latest;
    if (sessions.size === 0 && guard === undefined && this.#clock.token <= this.#world.now) {
      const { limiters, counters } = this.#state;
      Object.assign(this.#state, { ...emptyState(), limiters, counters });
    }
    this.#starts.end();
    sweepStarts(this.#state.limiters, this.#world.now);
    return {
      name: 'done',
      left,
      time: this.#clock.time,
      results,
      grants: this.#grants,
    };
  }

  /** Begins a namespace without state, which is new unless the server has lost its state. */
  #begin(): void {
    const { join, ttl } = this.#batch;
    const holders = this.#world.announce({ name: 'lost' });
    if (join === 'again' || holders > 0 || this.#world.uptime < ttl) {
      this.#state.guard = this.#latest + ttl;
    }
  }

  /**
   * Another run of the server may have loaded an older state, which lacks the latest grants. The sender's connection may
   * be to a proxy and older than the run, so the run is read from the server.
   */
  #checkRun(): void {
    const clock = this.#clock;
    const { run = clock.run } = this.#batch;
    if (run === clock.run) return;
    if (clock.run !== undefined && clock.run !== this.#world.run) this.#keepGuard();
    clock.run = this.#world.run;
  }

  #isLive(session: string): boolean {
    const known = this.#state.sessions.get(session);
    return known !== undefined && known.expires > this.#clock.time;
  }

  #guarded(): boolean {
    return this.#state.guard !== undefined && this.#state.guard > this.#clock.time;
  }

  #tokens(count: number): number {
    const token = Math.max(this.#clock.token + 1, this.#world.now);
    this.#clock.token = token + count - 1;
    return token;
  }

  #contended(keys: readonly string[]): boolean {
    return keys.some((key) => this.#queues.first(key) !== undefined);
  }

  #sweep(): void {
    const { sessions, requests, guard } = this.#state;
    if (guard !== undefined && !this.#guarded()) {
      this.#state.guard = undefined;
      for (const id of sorted(requests)) {
        const { keys, condition } = requests.get(id) as Request;
        if (condition === undefined) this.#freed.push(...keys);
      }
    }
    const ended = [...sessions].filter(([session]) => !this.#isLive(session));
    ended.sort(([a, { expires: x }], [b, { expires: y }]) => x - y || (a < b ? -1 : 1));
    for (const [session] of ended) this.#end(session);
  }

  #end(session: string): void {
    const { sessions, locks, shares, requests } = this.#state;
    sessions.delete(session);
    const held = new Map<string, [id: string, key: string]>();
    for (const key of [...locks.keys(), ...shares.keys()]) {
      for (const { id } of this.#holdsOf(key)) {
        if (sessionOf(id) === session) held.set(`${id} ${key}`, [id, key]);
      }
    }
    for (const name of sorted(held)) {
      const [id, key] = held.get(name) as [string, string];
      this.#free(id, [key]);
    }
    for (const id of sorted(requests)) if (sessionOf(id) === session) this.#remove(id);
  }

  #holdsOf(key: string): readonly Hold[] {
    const { locks, shares } = this.#state;
    const lock = locks.get(key);
    return lock === undefined ? (shares.get(key) ?? []) : [{ ...lock, weight: 0 }];
  }

  #holdOf(id: string, key: string): Hold | undefined {
    return this.#holdsOf(key).find((hold) => hold.id === id);
  }

  /** Frees keys that the request holds. */
  #free(id: string, keys: readonly string[]): void {
    const { locks, shares } = this.#state;
    for (const key of keys) {
      const others = shares.get(key)?.filter((hold) => hold.id !== id) ?? [];
      if (others.length > 0) shares.set(key, others);
      else if (!shares.delete(key)) locks.delete(key);
    }
    this.#freed.push(...keys);
  }

  #remove(id: string): void {
    const request = this.#state.requests.get(id);
    if (request === undefined) return;
    this.#state.requests.delete(id);
    if (request.condition === undefined) this.#freed.push(...request.keys);
    if (request.notified !== undefined) this.#notify(request.notified, 1);
  }

  /** Removes requests of ended sessions from the front of the queue of a key. */
  #removeDead(key: string): void {
    for (let id = this.#queues.first(key); id !== undefined; id = this.#queues.first(key)) {
      if (this.#isLive(sessionOf(id))) return;
      this.#remove(id);
    }
  }

  #notify(condition: string, count: number): number {
    let moved = 0;
    while (moved < count) {
      const id = this.#queues.first(condition, 'condition');
      if (id === undefined) break;
      if (this.#isLive(sessionOf(id))) {
        this.#unpark(id, condition);
        moved++;
      } else {
        this.#remove(id);
      }
    }
    return moved;
  }

  #unpark(id: string, notified?: string): void {
    const { tokens, keys } = this.#state.requests.get(id) as Request;
    this.#state.requests.delete(id);
    const order = `${this.#tokens(1)}`;
    this.#queues.add(id, {
      order,
      tokens,
      keys,
      ...(notified === undefined ? {} : { notified }),
    });
    this.#freed.push(...keys);
    this.#revoke(keys);
  }

  #send(session: string, message: Message): number {
    const known = this.#state.sessions.get(session);
    return known === undefined ? 0 : this.#world.send(processOf(session), message, known.secret);
  }

  /** Asks processes that hand these keys over among their own tasks to give them back. */
  #revoke(keys: readonly string[]): void {
    for (const key of keys) {
      const id = this.#state.locks.get(key)?.id;
      if (id?.endsWith(REVOCABLE) && !this.#revoked.has(id)) {
        this.#revoked.add(id);
        this.#send(sessionOf(id), { name: 'revoke', id });
      }
    }
  }

  #settle(): void {
    // Serving may append keys.
    for (const key of this.#freed) {
      while (!this.#guarded()) {
        const id = this.#queues.first(key);
        if (id === undefined) break;
        const request = this.#state.requests.get(id) as Request;
        if (!this.#isLive(sessionOf(id)) || this.#unreachable.has(sessionOf(id))) {
          this.#remove(id);
          continue;
        }
        if (this.#tried.get(id) === this.#freed.length) break;
        this.#tried.set(id, this.#freed.length);
        if (
          this.#blockersOf(request.keys, request.share) !== undefined ||
          this.#guarded() ||
          request.keys.some((wanted) => this.#queues.first(wanted) !== id)
        )
          break;
        this.#state.requests.delete(id);
        const grant = this.#plan(id, request);
        if (sessionOf(id) === this.#batch.session) {
          this.#grants.push(grant);
        } else if (this.#send(sessionOf(id), { name: 'held', grant }) === 0) {
          // The process does not listen: it has died, or it loses its turn because it cannot be notified.
          this.#unreachable.add(sessionOf(id));
          this.#state.requests.set(id, request);
          this.#remove(id);
          continue;
        }
        this.#take(grant, request.keys, request.share);
        if (request.share === undefined) break;
        // The next request in these queues may share the keys.
        this.#freed.push(...request.keys);
      }
    }
  }

  /** Whether the key can be granted beside its present holders. */
  #admits(key: string, share: Share | undefined): boolean {
    const { locks, shares, limits } = this.#state;
    if (locks.has(key)) return false;
    const holds = shares.get(key) ?? [];
    if (share === undefined) return holds.length === 0;
    const limit = limits.get(key) ?? share.limit;
    return limit === 0 || holds.reduce((sum, { weight }) => sum + weight, share.weight) <= limit;
  }

  /**
   * Returns the live sessions that hold a key which cannot be granted, and ends the others; undefined if all keys can be
   * granted. The process of a session whose record is lost may still rely on its lease.
   */
  #blockersOf(keys: readonly string[], share: Share | undefined): string[] | undefined {
    const blocked = keys.filter((key) => !this.#admits(key, share));
    const held = blocked.flatMap((key) => this.#holdsOf(key)).map(({ id }) => sessionOf(id));
    for (const session of new Set(held)) {
      if (this.#isLive(session)) continue;
      if (!this.#state.sessions.has(session)) {
        this.#keepGuard();
        // The guard may be shorter than that lease, whose length is lost with the record.
        this.#world.announce({ name: 'lost' });
      }
      this.#end(session);
    }
    if (blocked.every((key) => this.#admits(key, share))) return undefined;
    return held.filter((session) => this.#isLive(session));
  }

  /** Nothing is granted until the longest lease that may exist has expired. */
  #keepGuard(): void {
    const until = this.#latest + this.#longest();
    this.#state.guard = Math.max(this.#state.guard ?? 0, until);
  }

  /**
   * Returns what a request is granted; it is no longer in the queue. An optional key is granted if it is free and its
   * first waiter, if any, also needs one of the requested keys.
   */
  #plan(
    id: string,
    { tokens, keys, optional = [] }: Pick<Request, 'tokens' | 'keys' | 'optional'>,
  ): Grant {
    const extra = optional.filter((key) => {
      if (this.#holdsOf(key).length > 0) return false;
      const first = this.#queues.first(key);
      const wanted = first === undefined ? undefined : this.#state.requests.get(first)?.keys;
      return wanted?.some((other) => keys.includes(other)) ?? true;
    });
    const contended = this.#contended(keys);
    return { id, token: this.#tokens(tokens), contended, extra };
  }

  #take({ id, token, extra }: Grant, keys: readonly string[], share: Share | undefined): void {
    const { locks, shares } = this.#state;
    for (const key of [...keys, ...extra]) {
      if (share === undefined) locks.set(key, { id, token });
      else shares.set(key, [...(shares.get(key) ?? []), { id, token, weight: share.weight }]);
    }
  }

  #lock({ id, tokens, wait, keys, optional, share }: Operation & { name: 'lock' }): Result {
    const { locks, requests } = this.#state;
    const isMine = (key: string): boolean => this.#holdOf(id, key) !== undefined;
    const extra = optional.filter(isMine);
    if (keys.every(isMine)) {
      const { token } = this.#holdOf(id, keys[0] as string) as Hold;
      return { name: 'held', grant: { id, token, contended: this.#contended(keys), extra } };
    }
    // A key of the lock was deleted by hand: the rest of the lock is useless.
    this.#free(id, [...keys.filter(isMine), ...extra]);
    const blockers = this.#blockersOf(keys, share);
    if (!requests.has(id)) {
      for (const key of keys) this.#removeDead(key);
      if (blockers === undefined && !this.#guarded() && !this.#contended(keys)) {
        const grant = this.#plan(id, { tokens, keys, optional });
        this.#take(grant, keys, share);
        return { name: 'held', grant };
      }
      if (!wait) return { name: 'busy' };
      this.#queues.add(id, {
        order: `${this.#tokens(1)}`,
        tokens,
        keys,
        ...(optional.length === 0 ? {} : { optional }),
        ...(share === undefined ? {} : { share }),
      });
      this.#revoke(keys);
    }
    // Earlier requests may have been removed, and a holder may have ended without a release.
    this.#freed.push(...keys.filter((key) => !locks.has(key)));
    const ends = (blockers ?? []).map(
      (session) => this.#state.sessions.get(session)?.expires as number,
    );
    if (this.#guarded()) ends.push(this.#state.guard as number);
    return { name: 'queued', left: Math.min(...ends) - this.#clock.time };
  }

  #perform(operation: Operation): Result {
    switch (operation.name) {
      case 'lock':
        return this.#lock(operation);
      case 'unlock': {
        const { id, keys } = operation;
        const mine = keys.filter((key) => this.#holdOf(id, key) !== undefined);
        this.#free(id, mine);
        this.#remove(id);
        return { name: 'number', value: mine.length };
      }
      case 'downgrade': {
        const { id, keys } = operation;
        const { locks, shares } = this.#state;
        const alone = keys.filter((key) => locks.get(key)?.id === id);
        for (const key of alone) {
          const { token } = locks.get(key) as { token: number };
          locks.delete(key);
          shares.set(key, [{ id, token, weight: 1 }]);
        }
        this.#freed.push(...alone);
        return { name: 'number', value: alone.length };
      }
      case 'limit':
        this.#state.limits.set(operation.key, operation.limit);
        this.#freed.push(operation.key);
        return { name: 'number', value: operation.limit };
      case 'take': {
        const { id, token, keys } = operation;
        const taken = keys.filter((key) => this.#holdOf(id, key)?.token === token);
        this.#free(id, taken);
        if (taken.length > 0) this.#send(sessionOf(id), { name: 'taken', id, token });
        return { name: 'number', value: taken.length };
      }
      case 'check': {
        const { id, keys } = operation;
        const held = keys.every((key) => this.#holdOf(id, key) !== undefined);
        return { name: 'check', held, contended: held && this.#contended(keys) };
      }
      case 'wait': {
        const { id, condition, keys } = operation;
        if (this.#state.requests.has(id) || this.#holdOf(id, keys[0] as string) !== undefined) {
          return { name: 'number', value: 0 };
        }
        const order = `${this.#tokens(1)}`;
        this.#queues.add(id, { order, tokens: 1, keys, condition });
        return { name: 'number', value: 1 };
      }
      case 'wake': {
        const parked = this.#state.requests.get(operation.id)?.condition !== undefined;
        if (parked) this.#unpark(operation.id);
        return { name: 'number', value: parked ? 1 : 0 };
      }
      case 'notify':
        return { name: 'number', value: this.#notify(operation.condition, operation.count) };
      case 'reserve':
        return { name: 'number', value: this.#tokens(operation.tokens) };
      case 'renew': {
        this.#sweep();
        let next = this.#state.guard;
        for (const [session, { expires }] of this.#state.sessions) {
          if (session !== this.#batch.session) next = Math.min(next ?? expires, expires);
        }
        return { name: 'renewed', next: next === undefined ? undefined : next - this.#clock.time };
      }
      case 'leave':
        this.#end(operation.session);
        return { name: 'number', value: 0 };
      case 'query': {
        const { locks, shares, requests } = this.#state;
        const held = [...locks.keys(), ...shares.keys()];
        return {
          name: 'query',
          state: {
            locks: new Map(held.map((key) => [key, this.#holdsOf(key)])),
            requests: new Map(requests),
          },
        };
      }
      case 'start':
      case 'correct':
      case 'penalize':
        return performStart(this.#starts, operation);
      case 'count':
      case 'forget':
        throw new TypeError(`${operation.name} travels without a session`);
    }
  }
}
