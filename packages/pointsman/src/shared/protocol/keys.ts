/**
 * The keys of a namespace during one batch: their holders, their queues, and how a freed key is granted.
 *
 * Invariants, after each batch:
 * - A key is held by one request alone, or shared by requests whose weights are within its limit; each is of an existing
 *   session.
 * - The first request in the queue of a key cannot be granted all of its keys.
 */

import type { BatchTime } from './batch-time.js';
import {
  type Batch,
  type Grant,
  type Hold,
  type Message,
  type Operation,
  processOf,
  REVOCABLE,
  type Request,
  type Result,
  type Share,
  sessionOf,
} from './protocol.js';
import { RequestQueues, type State, type World } from './state.js';

/** Returns the names in the order in which the Lua script finds them. */
const sorted = (map: ReadonlyMap<string, unknown>): string[] => [...map.keys()].sort();

export class Keys {
  /** Keys whose queue is to be served. */
  readonly freed: string[] = [];
  /** Further requests of the sender's session granted by the batch. */
  readonly grants: Grant[] = [];
  readonly queues: RequestQueues;
  readonly #state: State;
  readonly #batch: Batch;
  readonly #world: World;
  readonly #time: BatchTime;
  /** Requests that could not be granted, with the number of freed keys then; retried after another key is freed. */
  readonly #tried = new Map<string, number>();
  readonly #revoked = new Set<string>();
  /** Sessions whose process does not listen. */
  readonly #unreachable = new Set<string>();

  constructor(state: State, batch: Batch, world: World, time: BatchTime) {
    this.#state = state;
    this.#batch = batch;
    this.#world = world;
    this.#time = time;
    this.queues = world.queues?.(state.requests) ?? new RequestQueues(state.requests);
  }

  sweep(): void {
    const { sessions, requests, guard } = this.#state;
    if (guard !== undefined && !this.#time.guarded()) {
      this.#state.guard = undefined;
      for (const id of sorted(requests)) {
        const { keys, condition } = requests.get(id) as Request;
        if (condition === undefined) this.freed.push(...keys);
      }
    }
    const ended = [...sessions].filter(([session]) => !this.#time.isLive(session));
    ended.sort(([a, { expires: x }], [b, { expires: y }]) => x - y || (a < b ? -1 : 1));
    for (const [session] of ended) this.end(session);
  }

  end(session: string): void {
    const { sessions, locks, shares, requests } = this.#state;
    sessions.delete(session);
    const held = new Map<string, [id: string, key: string]>();
    for (const key of [...locks.keys(), ...shares.keys()]) {
      for (const { id } of this.holdsOf(key)) {
        if (sessionOf(id) === session) held.set(`${id} ${key}`, [id, key]);
      }
    }
    for (const name of sorted(held)) {
      const [id, key] = held.get(name) as [string, string];
      this.free(id, [key]);
    }
    for (const id of sorted(requests)) if (sessionOf(id) === session) this.remove(id);
  }

  holdsOf(key: string): readonly Hold[] {
    const { locks, shares } = this.#state;
    const lock = locks.get(key);
    return lock === undefined ? (shares.get(key) ?? []) : [{ ...lock, weight: 0 }];
  }

  holdOf(id: string, key: string): Hold | undefined {
    return this.holdsOf(key).find((hold) => hold.id === id);
  }

  /** Frees keys that the request holds. */
  free(id: string, keys: readonly string[]): void {
    const { locks, shares } = this.#state;
    for (const key of keys) {
      const others = shares.get(key)?.filter((hold) => hold.id !== id) ?? [];
      if (others.length > 0) shares.set(key, others);
      else if (!shares.delete(key)) locks.delete(key);
    }
    this.freed.push(...keys);
  }

  remove(id: string): void {
    const request = this.#state.requests.get(id);
    if (request === undefined) return;
    this.#state.requests.delete(id);
    if (request.condition === undefined) this.freed.push(...request.keys);
    if (request.notified !== undefined) this.notify(request.notified, 1);
  }

  /** Removes requests of ended sessions from the front of the queue of a key. */
  #removeDead(key: string): void {
    for (let id = this.queues.first(key); id !== undefined; id = this.queues.first(key)) {
      if (this.#time.isLive(sessionOf(id))) return;
      this.remove(id);
    }
  }

  contended(keys: readonly string[]): boolean {
    return keys.some((key) => this.queues.first(key) !== undefined);
  }

  notify(condition: string, count: number): number {
    let moved = 0;
    while (moved < count) {
      const id = this.queues.first(condition, 'condition');
      if (id === undefined) break;
      if (this.#time.isLive(sessionOf(id))) {
        this.unpark(id, condition);
        moved++;
      } else {
        this.remove(id);
      }
    }
    return moved;
  }

  unpark(id: string, notified?: string): void {
    const { tokens, keys } = this.#state.requests.get(id) as Request;
    this.#state.requests.delete(id);
    const order = `${this.#time.tokens(1)}`;
    this.queues.add(id, {
      order,
      tokens,
      keys,
      ...(notified === undefined ? {} : { notified }),
    });
    this.freed.push(...keys);
    this.#revoke(keys);
  }

  send(session: string, message: Message): number {
    const known = this.#state.sessions.get(session);
    return known === undefined ? 0 : this.#world.send(processOf(session), message, known.secret);
  }

  /** Asks processes that hand these keys over among their own tasks to give them back. */
  #revoke(keys: readonly string[]): void {
    for (const key of keys) {
      const id = this.#state.locks.get(key)?.id;
      if (id?.endsWith(REVOCABLE) && !this.#revoked.has(id)) {
        this.#revoked.add(id);
        this.send(sessionOf(id), { name: 'revoke', id });
      }
    }
  }

  settle(): void {
    // Serving may append keys.
    for (const key of this.freed) {
      while (!this.#time.guarded()) {
        const id = this.queues.first(key);
        if (id === undefined) break;
        const request = this.#state.requests.get(id) as Request;
        if (!this.#time.isLive(sessionOf(id)) || this.#unreachable.has(sessionOf(id))) {
          this.remove(id);
          continue;
        }
        if (this.#tried.get(id) === this.freed.length) break;
        this.#tried.set(id, this.freed.length);
        if (
          this.#blockersOf(request.keys, request.share) !== undefined ||
          this.#time.guarded() ||
          request.keys.some((wanted) => this.queues.first(wanted) !== id)
        )
          break;
        this.#state.requests.delete(id);
        const grant = this.#plan(id, request);
        if (sessionOf(id) === this.#batch.session) {
          this.grants.push(grant);
        } else if (this.send(sessionOf(id), { name: 'held', grant }) === 0) {
          // The process does not listen: it has died, or it loses its turn because it cannot be notified.
          this.#unreachable.add(sessionOf(id));
          this.#state.requests.set(id, request);
          this.remove(id);
          continue;
        }
        this.#take(grant, request.keys, request.share);
        if (request.share === undefined) break;
        // The next request in these queues may share the keys.
        this.freed.push(...request.keys);
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
    const held = blocked.flatMap((key) => this.holdsOf(key)).map(({ id }) => sessionOf(id));
    for (const session of new Set(held)) {
      if (this.#time.isLive(session)) continue;
      if (!this.#state.sessions.has(session)) {
        this.#time.keepGuard();
        // The guard may be shorter than that lease, whose length is lost with the record.
        this.#world.announce({ name: 'lost' });
      }
      this.end(session);
    }
    if (blocked.every((key) => this.#admits(key, share))) return undefined;
    return held.filter((session) => this.#time.isLive(session));
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
      if (this.holdsOf(key).length > 0) return false;
      const first = this.queues.first(key);
      const wanted = first === undefined ? undefined : this.#state.requests.get(first)?.keys;
      return wanted?.some((other) => keys.includes(other)) ?? true;
    });
    const contended = this.contended(keys);
    return { id, token: this.#time.tokens(tokens), contended, extra };
  }

  #take({ id, token, extra }: Grant, keys: readonly string[], share: Share | undefined): void {
    const { locks, shares } = this.#state;
    for (const key of [...keys, ...extra]) {
      if (share === undefined) locks.set(key, { id, token });
      else shares.set(key, [...(shares.get(key) ?? []), { id, token, weight: share.weight }]);
    }
  }

  lock({ id, tokens, wait, keys, optional, share }: Operation & { name: 'lock' }): Result {
    const { locks, requests } = this.#state;
    const isMine = (key: string): boolean => this.holdOf(id, key) !== undefined;
    const extra = optional.filter(isMine);
    if (keys.every(isMine)) {
      const { token } = this.holdOf(id, keys[0] as string) as Hold;
      return { name: 'held', grant: { id, token, contended: this.contended(keys), extra } };
    }
    // A key of the lock was deleted by hand, so the lock is lost.
    this.free(id, [...keys.filter(isMine), ...extra]);
    const blockers = this.#blockersOf(keys, share);
    if (!requests.has(id)) {
      for (const key of keys) this.#removeDead(key);
      if (blockers === undefined && !this.#time.guarded() && !this.contended(keys)) {
        const grant = this.#plan(id, { tokens, keys, optional });
        this.#take(grant, keys, share);
        return { name: 'held', grant };
      }
      if (!wait) return { name: 'busy' };
      this.queues.add(id, {
        order: `${this.#time.tokens(1)}`,
        tokens,
        keys,
        ...(optional.length === 0 ? {} : { optional }),
        ...(share === undefined ? {} : { share }),
      });
      this.#revoke(keys);
    }
    // Earlier requests may have been removed, and a holder may have ended without a release.
    this.freed.push(...keys.filter((key) => !locks.has(key)));
    const ends = (blockers ?? []).map(
      (session) => this.#state.sessions.get(session)?.expires as number,
    );
    if (this.#time.guarded()) ends.push(this.#state.guard as number);
    return { name: 'queued', left: Math.min(...ends) - this.#time.clock.time };
  }
}
