/**
 * The protocol, written to be obviously right: what one batch does to the state of a namespace.
 *
 * The handler `pure` runs it inside a transaction, the model search explores it, and the Lua script is
 * tested against it. Invariants, after each batch:
 * - a key is held by at most one request, and only by one of a session that exists;
 * - the first in the queue for a key cannot be granted all of its keys;
 * - every token handed out is higher than all before it;
 * - time in here never runs backwards, and goes on only as far as the server's clock has moved and the
 *   sender of a batch vouches for, so that a jump of that clock cannot end the leases of those who are
 *   alive.
 */

import {
  type Batch,
  type Grant,
  type Message,
  type Operation,
  processOf,
  REVOCABLE,
  type Reply,
  type Request,
  type Result,
  sessionOf,
} from './protocol.js';

export interface Clock {
  /** The last token handed out; also the last place in the queue. */
  token: number;
  /** The namespace's own time in milliseconds. */
  time: number;
  /** The server's clock, in milliseconds, up to where it has been counted. */
  seen: number;
  /**
   * Whether more of it than any lease had to be left out, and nobody who has something to lose has
   * spoken since.
   */
  doubted: boolean;
  /** The run of the server that this is the state of, if it is known. */
  run: string | undefined;
}

export interface Session {
  /** When its lease runs out, in the namespace's time. */
  expires: number;
  incarnation: number;
  /** How long its lease is, in milliseconds. */
  ttl: number;
  /** The secret with which messages to the session are signed. */
  secret: string;
}

/** All that the server keeps of a namespace. */
export interface State {
  clock: Clock | undefined;
  /** From key to the request that holds it and the token that it was given. */
  locks: Map<string, { id: string; token: number }>;
  sessions: Map<string, Session>;
  requests: Map<string, Request>;
  /** Until then nothing is granted, in the namespace's time: locks from before may still be in use. */
  guard: number | undefined;
}

/** What a batch can see of the world around the state. */
export interface World {
  /** The server's clock in microseconds. */
  readonly now: number;
  /** How long the server has been running, in milliseconds. */
  readonly uptime: number;
  /** Which run of the server this is. Only looked at if the state is that of another, or seems so. */
  readonly run: string | undefined;
  /** Tells all who hold something in the namespace; how many were listening. */
  announce(message: Message): number;
  /** Sends a signed message to the process of a session; returns how many connections received it. */
  tell(process: string, message: Message, secret: string): number;
}

export const emptyState = (): State => ({
  clock: undefined,
  locks: new Map(),
  sessions: new Map(),
  requests: new Map(),
  guard: undefined,
});

/** An order of their own: that of Redis depends on its history. */
const sorted = (map: ReadonlyMap<string, unknown>): string[] => [...map.keys()].sort();

/** Applies a batch to the state, which is changed in place. */
export function apply(state: State, batch: Batch, world: World): Reply {
  return new Application(state, batch, world).reply();
}

/** The queue of each key and of each condition, in order. May still contain requests that have left. */
type Queues = Record<'key' | 'condition', Map<string, { id: string; request: Request }[]>>;

class Application {
  readonly #state: State;
  readonly #batch: Batch;
  readonly #world: World;
  readonly #clock: Clock;
  /** The namespace's time if all that has passed were counted. */
  #latest: number;
  /** Keys whose queue may have somebody to serve. */
  readonly #freed: string[] = [];
  /** Built when it is first needed: searching all requests each time takes too long if there are many. */
  #queues: Queues | undefined;
  /** Requests that could not be served, and the number of freed keys then: the result holds until a key is freed. */
  readonly #tried = new Map<string, number>();
  readonly #grants: Grant[] = [];
  readonly #revoked = new Set<string>();
  readonly #gone = new Set<string>();

  constructor(state: State, batch: Batch, world: World) {
    this.#state = state;
    this.#batch = batch;
    this.#world = world;
    const now = Math.floor(world.now / 1000);
    this.#latest = now;
    if (state.clock === undefined) {
      Object.assign(state, emptyState());
      this.#clock = { token: 0, time: now, seen: now, doubted: false, run: batch.run };
    } else {
      this.#clock = { ...state.clock };
      this.#advance(now);
    }
  }

  /**
   * Moves time on. What has passed and nobody has vouched for yet may still be counted: leases begin
   * after it.
   */
  #advance(now: number): void {
    const clock = this.#clock;
    const { session, ttl, time = 0, join, operations } = this.#batch;
    const passed = Math.max(now - clock.seen, 0);
    let step = Math.min(passed, Math.max(time - clock.time, 0));
    let rest = passed - step;
    // Whether the sender had something to lose for a quarter of a lease. Of what was before it began it
    // cannot speak: processes that come and go would keep time from ever going on.
    const lease = join === 'must' ? this.#state.sessions.get(session)?.expires : undefined;
    const lived = lease !== undefined && lease - clock.time - passed <= (ttl * 3) / 4;
    if (rest > this.#longest()) {
      // Longer than anybody who is alive is silent: the clock has jumped, or nobody is alive. If it was
      // so before, and nobody with something to lose has spoken since, nobody is.
      if (clock.doubted) step = passed;
      clock.doubted = true;
      rest = 0;
    } else if (lived && operations.some(({ name }) => name === 'renew')) {
      rest = 0;
    }
    if (lived) clock.doubted = false;
    clock.time += step;
    clock.seen = now - rest;
    this.#latest = clock.time + rest;
  }

  /** The longest lease that there is. */
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
      Object.assign(this.#state, emptyState());
    }
    return {
      name: 'done',
      left,
      time: this.#clock.time,
      results,
      grants: this.#grants,
    };
  }

  /** A namespace without state: is it new, or has the server lost it? */
  #begin(): void {
    const { join, ttl } = this.#batch;
    const holders = this.#world.announce({ name: 'lost' });
    if (join === 'again' || holders > 0 || this.#world.uptime < ttl) {
      this.#state.guard = this.#latest + ttl;
    }
  }

  /**
   * Another run of the server may have read an older state: who was granted something meanwhile is not
   * in there. Through a proxy the sender's connection may be older than the run, so the server is asked.
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

  /** The first in the queue of a key or of a condition. */
  #first(name: string, kind: 'key' | 'condition' = 'key'): string | undefined {
    if (this.#queues === undefined) {
      this.#queues = { key: new Map(), condition: new Map() };
      const inOrder = [...this.#state.requests].sort((a, b) => +a[1].order - +b[1].order);
      for (const [id, request] of inOrder) this.#queue(id, request, this.#queues);
    }
    const queue = this.#queues[kind].get(name);
    // Requests that have left are dropped when they reach the front.
    while (queue?.[0] && this.#state.requests.get(queue[0].id) !== queue[0].request) queue.shift();
    return queue?.[0]?.id;
  }

  /** Enqueues a request; its order is higher than that of all earlier ones. */
  #enqueue(id: string, request: Request): void {
    this.#state.requests.set(id, request);
    if (this.#queues !== undefined) this.#queue(id, request, this.#queues);
  }

  #queue(id: string, request: Request, queues: Queues): void {
    const { keys, condition } = request;
    const kind = condition === undefined ? 'key' : 'condition';
    for (const name of condition === undefined ? keys : [condition]) {
      const queue = queues[kind].get(name);
      if (queue === undefined) queues[kind].set(name, [{ id, request }]);
      else queue.push({ id, request });
    }
  }

  #contended(keys: readonly string[]): boolean {
    return keys.some((key) => this.#first(key) !== undefined);
  }

  /** Ends the sessions whose lease has run out, and the guard. */
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
    const { sessions, locks, requests } = this.#state;
    sessions.delete(session);
    const held = [...locks].filter(([, { id }]) => sessionOf(id) === session);
    const byRequest = new Map(held.map(([key, { id }]) => [`${id} ${key}`, key]));
    for (const name of sorted(byRequest)) {
      const key = byRequest.get(name) as string;
      locks.delete(key);
      this.#freed.push(key);
    }
    for (const id of sorted(requests)) if (sessionOf(id) === session) this.#remove(id);
  }

  #remove(id: string): void {
    const request = this.#state.requests.get(id);
    if (request === undefined) return;
    this.#state.requests.delete(id);
    if (request.condition === undefined) this.#freed.push(...request.keys);
    if (request.notified !== undefined) this.#notify(request.notified, 1);
  }

  /** Takes those out who stand first in the queue of a key and whose session has ended. */
  #bury(key: string): void {
    for (let id = this.#first(key); id !== undefined; id = this.#first(key)) {
      if (this.#isLive(sessionOf(id))) return;
      this.#remove(id);
    }
  }

  #notify(condition: string, count: number): number {
    let moved = 0;
    while (moved < count) {
      const id = this.#first(condition, 'condition');
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
    this.#enqueue(id, {
      order,
      tokens,
      keys,
      ...(notified === undefined ? {} : { notified }),
    });
    this.#freed.push(...keys);
    this.#revoke(keys);
  }

  /** Sends a message to the process of a session; returns how many connections received it. */
  #tell(session: string, message: Message): number {
    const known = this.#state.sessions.get(session);
    return known === undefined ? 0 : this.#world.tell(processOf(session), message, known.secret);
  }

  /** Asks those for the keys back who hand them over among their own tasks. */
  #revoke(keys: readonly string[]): void {
    for (const key of keys) {
      const id = this.#state.locks.get(key)?.id;
      if (id?.endsWith(REVOCABLE) && !this.#revoked.has(id)) {
        this.#revoked.add(id);
        this.#tell(sessionOf(id), { name: 'revoke', id });
      }
    }
  }

  /** Serves the queues of freed keys. */
  #settle(): void {
    // Serving may free further keys, which join the end of the list.
    for (const key of this.#freed) {
      while (!this.#guarded()) {
        const id = this.#first(key);
        if (id === undefined) break;
        const request = this.#state.requests.get(id) as Request;
        if (!this.#isLive(sessionOf(id)) || this.#gone.has(sessionOf(id))) {
          this.#remove(id);
          continue;
        }
        if (this.#tried.get(id) === this.#freed.length) break;
        this.#tried.set(id, this.#freed.length);
        if (
          this.#holdersOf(request.keys).length > 0 ||
          this.#guarded() ||
          request.keys.some((wanted) => this.#first(wanted) !== id)
        )
          break;
        this.#state.requests.delete(id);
        const grant = this.#plan(id, request);
        if (sessionOf(id) === this.#batch.session) {
          this.#grants.push(grant);
        } else if (this.#tell(sessionOf(id), { name: 'held', grant }) === 0) {
          // Nobody listens: that process is gone, or loses its turn because it cannot be told of it.
          this.#gone.add(sessionOf(id));
          this.#state.requests.set(id, request);
          this.#remove(id);
          continue;
        }
        this.#take(grant, request.keys);
        break;
      }
    }
  }

  /**
   * Returns the sessions that hold one of the keys; ends those whose lease has expired. A session without
   * a record has not expired: its record is lost, and its process may still rely on its lease.
   */
  #holdersOf(keys: readonly string[]): string[] {
    const held = keys.flatMap((key) => this.#state.locks.get(key)?.id ?? []).map(sessionOf);
    for (const session of new Set(held)) {
      if (this.#isLive(session)) continue;
      if (!this.#state.sessions.has(session)) {
        this.#keepGuard();
        // How long its lease was is lost with the record.
        this.#world.announce({ name: 'lost' });
      }
      this.#end(session);
    }
    return held.filter((session) => this.#isLive(session));
  }

  /** Nothing is granted until the longest lease that may exist has expired. */
  #keepGuard(): void {
    const until = this.#latest + this.#longest();
    this.#state.guard = Math.max(this.#state.guard ?? 0, until);
  }

  /**
   * What a request is granted; it must not be in the queue any more. The optional keys are those that
   * nobody has and that nobody could use without one of the others.
   */
  #plan(
    id: string,
    { tokens, keys, optional = [] }: Pick<Request, 'tokens' | 'keys' | 'optional'>,
  ): Grant {
    const extra = optional.filter((key) => {
      if (this.#state.locks.has(key)) return false;
      const first = this.#first(key);
      const wanted = first === undefined ? undefined : this.#state.requests.get(first)?.keys;
      return wanted?.some((other) => keys.includes(other)) ?? true;
    });
    const contended = this.#contended(keys);
    return { id, token: this.#tokens(tokens), contended, extra };
  }

  #take({ id, token, extra }: Grant, keys: readonly string[]): void {
    for (const key of [...keys, ...extra]) this.#state.locks.set(key, { id, token });
  }

  #lock({ id, tokens, wait, keys, optional }: Operation & { name: 'lock' }): Result {
    const { locks, requests } = this.#state;
    const isMine = (key: string): boolean => locks.get(key)?.id === id;
    const extra = optional.filter(isMine);
    if (keys.every(isMine)) {
      const { token } = locks.get(keys[0] as string) as { token: number };
      return { name: 'held', grant: { id, token, contended: this.#contended(keys), extra } };
    }
    // What is left of a lock of which a key was deleted by hand is of no use.
    for (const key of [...keys.filter(isMine), ...extra]) {
      locks.delete(key);
      this.#freed.push(key);
    }
    const holders = this.#holdersOf(keys);
    if (!requests.has(id)) {
      for (const key of keys) this.#bury(key);
      if (holders.length === 0 && !this.#guarded() && !this.#contended(keys)) {
        const grant = this.#plan(id, { tokens, keys, optional });
        this.#take(grant, keys);
        return { name: 'held', grant };
      }
      if (!wait) return { name: 'busy' };
      const request = { order: `${this.#tokens(1)}`, tokens, keys };
      this.#enqueue(id, optional.length === 0 ? request : { ...request, optional });
      this.#revoke(keys);
    }
    // Requests in front may be gone, and a holder may have vanished without a release.
    this.#freed.push(...keys.filter((key) => !locks.has(key)));
    const ends = holders.map((session) => this.#state.sessions.get(session)?.expires as number);
    if (this.#guarded()) ends.push(this.#state.guard as number);
    return { name: 'queued', left: Math.min(...ends) - this.#clock.time };
  }

  #perform(operation: Operation): Result {
    switch (operation.name) {
      case 'lock':
        return this.#lock(operation);
      case 'unlock': {
        const { id, keys } = operation;
        let freed = 0;
        for (const key of keys) {
          if (this.#state.locks.get(key)?.id === id) {
            this.#state.locks.delete(key);
            this.#freed.push(key);
            freed++;
          }
        }
        this.#remove(id);
        return { name: 'number', value: freed };
      }
      case 'take': {
        const { id, token, keys } = operation;
        const { locks } = this.#state;
        const taken = keys.filter((key) => {
          const lock = locks.get(key);
          return lock?.id === id && lock.token === token;
        });
        for (const key of taken) locks.delete(key);
        this.#freed.push(...taken);
        if (taken.length > 0) this.#tell(sessionOf(id), { name: 'taken', id, token });
        return { name: 'number', value: taken.length };
      }
      case 'check': {
        const { id, keys } = operation;
        const held = keys.every((key) => this.#state.locks.get(key)?.id === id);
        return { name: 'check', held, contended: held && this.#contended(keys) };
      }
      case 'wait': {
        const { id, condition, keys } = operation;
        if (this.#state.requests.has(id) || this.#state.locks.get(keys[0] as string)?.id === id) {
          return { name: 'number', value: 0 };
        }
        const order = `${this.#tokens(1)}`;
        this.#enqueue(id, { order, tokens: 1, keys, condition });
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
        const locks = new Map<string, string>();
        for (const [key, { id, token }] of this.#state.locks) locks.set(key, `${id} ${token}`);
        return { name: 'query', state: { locks, requests: new Map(this.#state.requests) } };
      }
    }
  }
}
