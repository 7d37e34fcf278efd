/**
 * Chooses the requests to send next: FIFO within a key, and the keys take turns. Requests that the store would send back
 * stay here.
 */

import { nextMicrotask } from '../../sync/wait/give-up.js';
import { timerDelay } from '../session/time.js';
import { Gate, Lane } from './lanes.js';
import type { SharedRates } from './limits.js';

interface Owner {
  /** Starts the requests of the lane that a lease covers. */
  _serveHere(lane: Lane): void;
  /** Sends the next requests of a lane to the store, at most `most`. */
  _askNext(lane: Lane, most: number): void;
}

export class Turns {
  readonly #rates: SharedRates;
  readonly #owner: Owner;
  readonly #lanes = new Map<string | undefined, Lane>();
  /** Lanes with waiting requests, in the order of their turns. */
  readonly #turns = new Set<Lane>();
  /** Of all requests, if they share rates. */
  readonly #gate = new Gate();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isScheduled = false;

  constructor(rates: SharedRates, owner: Owner) {
    this.#rates = rates;
    this.#owner = owner;
  }

  get lanes(): Iterable<Lane> {
    return this.#lanes.values();
  }

  find(key: string | undefined): Lane | undefined {
    return this.#lanes.get(key);
  }

  laneOf(key: string | undefined): Lane {
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = new Lane(key);
      this.#lanes.set(key, lane);
    }
    return lane;
  }

  gateOf(lane: Lane): Gate {
    return this.#rates.isShared ? this.#gate : lane.gate;
  }

  /** Removes a lane without requests. */
  tidy(lane: Lane): void {
    if (!lane.isIdle) return;
    clearTimeout(lane.timer);
    this.#turns.delete(lane);
    this.#lanes.delete(lane.key);
  }

  /** Schedules the turn of a lane. */
  serve(lane: Lane): void {
    this.#turns.add(lane);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    nextMicrotask.then(() => {
      this.#isScheduled = false;
      this.#pump();
    });
  }

  /** There is space for another request of this lane, or of another one. */
  served(lane: Lane): void {
    if (lane.waiting > 0) {
      this.serve(lane);
      return;
    }
    this.tidy(lane);
    const [next] = this.#turns;
    if (next !== undefined) this.serve(next);
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const lane of this.lanes) clearTimeout(lane.timer);
  }

  /** Sends as many requests as may be admitted, one of each lane in turn. */
  #pump(): void {
    const now = performance.now();
    for (const lane of this.#turns) {
      this.#owner._serveHere(lane);
      const gate = this.gateOf(lane);
      const isShared = gate === this.#gate;
      if (isShared && lane.waiting > 0) {
        // A decision makes space.
        if (gate.isFull) return;
        if (gate.until > now) {
          this.#timer ??= setTimeout(
            () => {
              this.#timer = undefined;
              this.#pump();
            },
            timerDelay(gate.until - now),
          );
          return;
        }
      }
      this.#turns.delete(lane);
      const request = lane.front;
      if (request === undefined) {
        this.tidy(lane);
        continue;
      }
      const opens = Math.max(isShared ? 0 : gate.until, lane.heldUntil);
      if (opens > now) {
        lane.timer ??= setTimeout(
          () => {
            lane.timer = undefined;
            this.serve(lane);
          },
          timerDelay(opens - now),
        );
        continue;
      }
      // A decision about one of its requests gives it its turn again.
      if (gate.isFull || lane.isFull || (lane.isLeasing && request.weight === 1)) continue;
      this.#owner._askNext(lane, gate.max - gate.undecided);
      if (lane.waiting > 0) this.#turns.add(lane);
    }
  }
}
