/**
 * The reference implementation of the protocol: what one batch does to the state of a namespace. `BatchTime` and `Keys`
 * have the invariants.
 *
 * The handler `pure` runs it in a transaction, and the Lua script is tested against it.
 */

import { BatchTime } from './batch-time.js';
import { applyCounters, isOfCounters } from './counters.js';
import { Keys } from './keys.js';
import { type Batch, type Operation, type Reply, type Result, sessionOf } from './protocol.js';
import { Starts, sweepStarts } from './starts.js';
import { emptyState, type State, type World } from './state.js';

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
  readonly #time: BatchTime;
  readonly #keys: Keys;
  readonly #starts: Starts;

  constructor(state: State, batch: Batch, world: World) {
    this.#state = state;
    this.#batch = batch;
    this.#world = world;
    this.#time = new BatchTime(state, batch, world);
    this.#keys = new Keys(state, batch, world, this.#time);
    this.#starts = new Starts(state.limiters, world.now);
  }

  reply(): Reply {
    const { session, incarnation, join, ttl, secret, operations } = this.#batch;
    const known = this.#state.sessions.get(session);
    if (known !== undefined && incarnation < known.incarnation) return { name: 'stale' };
    if (join === 'must' && !this.#time.isLive(session)) return { name: 'lost' };
    if (this.#state.clock === undefined) {
      this.#begin();
    } else {
      this.#checkRun();
    }
    if (known !== undefined && !this.#time.isLive(session)) this.#keys.end(session);
    this.#state.clock = this.#time.clock;
    const current = this.#state.sessions.get(session);
    if (
      current === undefined ||
      incarnation > current.incarnation ||
      current.expires - this.#time.latest < (ttl * 2) / 3 ||
      operations.some(({ name }) => name === 'renew')
    ) {
      const expires = this.#time.latest + ttl;
      this.#state.sessions.set(session, { expires, incarnation, ttl, secret });
    }
    const results = operations.map((operation) => this.#perform(operation));
    this.#keys.settle();
    const { sessions, guard } = this.#state;
    const left = (sessions.get(session)?.expires ?? this.#time.latest) - this.#time.latest;
    if (sessions.size === 0 && guard === undefined && this.#time.clock.token <= this.#world.now) {
      const { limiters, counters } = this.#state;
      Object.assign(this.#state, { ...emptyState(), limiters, counters });
    }
    this.#starts.end();
    sweepStarts(this.#state.limiters, this.#world.now);
    return {
      name: 'done',
      left,
      time: this.#time.clock.time,
      results,
      grants: this.#keys.grants,
    };
  }

  /** Begins a namespace without state, which is new unless the server has lost its state. */
  #begin(): void {
    const { join, ttl } = this.#batch;
    const holders = this.#world.announce({ name: 'lost' });
    if (join === 'again' || holders > 0 || this.#world.uptime < ttl) {
      this.#state.guard = this.#time.latest + ttl;
    }
  }

  /**
   * Another run of the server may have loaded an older state, which lacks the latest grants. The sender's connection may
   * be to a proxy and older than the run, so the run is read from the server.
   */
  #checkRun(): void {
    const clock = this.#time.clock;
    const { run = clock.run } = this.#batch;
    if (run === clock.run) return;
    if (clock.run !== undefined && clock.run !== this.#world.run) this.#time.keepGuard();
    clock.run = this.#world.run;
  }

  #perform(operation: Operation): Result {
    switch (operation.name) {
      case 'lock':
        return this.#keys.lock(operation);
      case 'unlock': {
        const { id, keys } = operation;
        const mine = keys.filter((key) => this.#keys.holdOf(id, key) !== undefined);
        this.#keys.free(id, mine);
        this.#keys.remove(id);
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
        this.#keys.freed.push(...alone);
        return { name: 'number', value: alone.length };
      }
      case 'limit':
        this.#state.limits.set(operation.key, operation.limit);
        this.#keys.freed.push(operation.key);
        return { name: 'number', value: operation.limit };
      case 'take': {
        const { id, token, keys } = operation;
        const taken = keys.filter((key) => this.#keys.holdOf(id, key)?.token === token);
        this.#keys.free(id, taken);
        if (taken.length > 0) this.#keys.send(sessionOf(id), { name: 'taken', id, token });
        return { name: 'number', value: taken.length };
      }
      case 'check': {
        const { id, keys } = operation;
        const held = keys.every((key) => this.#keys.holdOf(id, key) !== undefined);
        return { name: 'check', held, contended: held && this.#keys.contended(keys) };
      }
      case 'wait': {
        const { id, condition, keys } = operation;
        if (
          this.#state.requests.has(id) ||
          this.#keys.holdOf(id, keys[0] as string) !== undefined
        ) {
          return { name: 'number', value: 0 };
        }
        const order = `${this.#time.tokens(1)}`;
        this.#keys.queues.add(id, { order, tokens: 1, keys, condition });
        return { name: 'number', value: 1 };
      }
      case 'wake': {
        const parked = this.#state.requests.get(operation.id)?.condition !== undefined;
        if (parked) this.#keys.unpark(operation.id);
        return { name: 'number', value: parked ? 1 : 0 };
      }
      case 'notify':
        return { name: 'number', value: this.#keys.notify(operation.condition, operation.count) };
      case 'reserve':
        return { name: 'number', value: this.#time.tokens(operation.tokens) };
      case 'renew': {
        this.#keys.sweep();
        let next = this.#state.guard;
        for (const [session, { expires }] of this.#state.sessions) {
          if (session !== this.#batch.session) next = Math.min(next ?? expires, expires);
        }
        return {
          name: 'renewed',
          next: next === undefined ? undefined : next - this.#time.clock.time,
        };
      }
      case 'leave':
        this.#keys.end(operation.session);
        return { name: 'number', value: 0 };
      case 'query': {
        const { locks, shares, requests } = this.#state;
        const held = [...locks.keys(), ...shares.keys()];
        return {
          name: 'query',
          state: {
            locks: new Map(held.map((key) => [key, this.#keys.holdsOf(key)])),
            requests: new Map(requests),
          },
        };
      }
      case 'start': {
        const { held = [], look } = operation;
        const isHeld = held.every(({ id, key }) => this.#keys.holdOf(id, key) !== undefined);
        const result = this.#starts.start({ ...operation, look: look || !isHeld });
        return isHeld ? result : { ...result, granted: false };
      }
      case 'correct':
      case 'penalize':
        return performStart(this.#starts, operation);
      case 'count':
      case 'forget':
        throw new TypeError(`${operation.name} travels without a session`);
    }
  }
}
