/**
 * The time of a namespace during one batch: its clock, the leases that it ends, the guard and the tokens.
 *
 * Invariant: the namespace's time never runs backwards. It advances only as far as the server's clock has moved and the
 * sender of a batch confirms, so a jump of the server's clock cannot end the leases of live processes.
 */

import type { Batch } from './protocol.js';
import { type Clock, emptyState, type State, type World } from './state.js';

export class BatchTime {
  readonly clock: Clock;
  /** The namespace's time if all time that has passed on the server's clock counted. */
  latest: number;
  readonly #state: State;
  readonly #batch: Batch;
  readonly #world: World;

  constructor(state: State, batch: Batch, world: World) {
    this.#state = state;
    this.#batch = batch;
    this.#world = world;
    const now = Math.floor(world.now / 1000);
    this.latest = now;
    if (state.clock === undefined) {
      const { limiters, counters } = state;
      Object.assign(state, { ...emptyState(), limiters, counters });
      this.clock = { token: 0, time: now, seen: now, doubted: false, run: batch.run };
    } else {
      this.clock = { ...state.clock };
      this.#advance(now);
    }
  }

  /**
   * Advances the namespace's time. A span that has passed and is not confirmed yet may be counted later, so leases begin
   * after it.
   */
  #advance(now: number): void {
    const clock = this.clock;
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
    this.latest = clock.time + rest;
  }

  #longest(): number {
    return Math.max(this.#batch.ttl, ...[...this.#state.sessions.values()].map(({ ttl }) => ttl));
  }

  isLive(session: string): boolean {
    const known = this.#state.sessions.get(session);
    return known !== undefined && known.expires > this.clock.time;
  }

  guarded(): boolean {
    return this.#state.guard !== undefined && this.#state.guard > this.clock.time;
  }

  /** Nothing is granted until the longest lease that may exist has expired. */
  keepGuard(): void {
    const until = this.latest + this.#longest();
    this.#state.guard = Math.max(this.#state.guard ?? 0, until);
  }

  tokens(count: number): number {
    const token = Math.max(this.clock.token + 1, this.#world.now);
    this.clock.token = token + count - 1;
    return token;
  }
}
