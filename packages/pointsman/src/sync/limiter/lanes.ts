/**
 * Keys and their turns.
 *
 * A key has a lane: those who wait, and the rules that hold for it alone. Invariant, whenever none of this code is
 * running: a lane stands
 * - in `ready`, if its first waiter may start by the rules of its own, the highest priority first, and equals in the
 *   order of their turns;
 * - in `timed`, if time will let its first waiter start, or if nobody waits and time will make it forgotten; the
 *   earliest first;
 * - in neither, if something else must happen first: what runs comes back, or what was let in starts.
 * A lane whose waiters are held back keeps its turn. A lane goes to the end of the round when it has started
 * something, or gets its first waiter. Whatever changes a lane ends in `place`, in logarithmic time.
 */

import type { Permit } from '../semaphore/permit.js';
import { insert, type Ranked, remove } from '../wait/heap.js';
import { WaitQueue, type WaitRequest } from '../wait/queue.js';
import { type ReadLimits, Rules, type Weight } from './rules.js';
import type { Time } from './time.js';

/** Somebody who waits, and gave options. */
export interface StartRequest extends WaitRequest {
  key: unknown;
  weight: Weight;
  runTimeout: number | undefined;
  /** Whether a function is called, which logs its start by itself. */
  runs: boolean;
  /** Undefined until the request waits. */
  lane: Lane | undefined;
  priority: number;
  /** The queue of its lane. Undefined while the request does not wait. */
  queue: WaitQueue<Permit> | undefined;
  age: Age | undefined;
}

/** Where somebody stands among those who have to make room. */
export interface Age extends Ranked {
  /** The negative of its own. */
  priority: number;
  readonly request: StartRequest;
}

export interface LaneOwner {
  _giveBack(lane: Lane, permits: number): void;
  readonly _time: Time;
  /** A start of this lane has been logged. */
  _logged(lane: Lane): void;
}

/** A key. It is what its permits go back to. */
export class Lane extends Rules implements Ranked {
  readonly key: unknown;
  readonly owner: LaneOwner;
  #queue: WaitQueue<Permit> | undefined;
  /** The heap in which it stands. */
  heap: Lane[] | undefined;
  /** In `ready` the priority of its first waiter, in `timed` the negative time. */
  priority = 0;
  /** Its turn. */
  order = 0;
  index = 0;

  constructor(owner: LaneOwner, key?: unknown) {
    super();
    this.owner = owner;
    this.key = key;
  }

  /** Those who wait. Most lanes of many never have any. */
  get queue(): WaitQueue<Permit> {
    this.#queue ??= new WaitQueue('');
    return this.#queue;
  }

  /** Who is served next. All that somebody without options did not ask for is undefined. */
  get front(): StartRequest | undefined {
    return this.#queue?.front as StartRequest | undefined;
  }

  /** @internal */
  _giveBack(permits: number): void {
    this.owner._giveBack(this, permits);
  }
}

export class Lanes {
  readonly ready: Lane[] = [];
  readonly byKey = new Map<unknown, Lane>();
  readonly #timed: Lane[] = [];
  readonly #owner: LaneOwner;
  #turn = 0;

  constructor(owner: LaneOwner) {
    this.#owner = owner;
  }

  /** The lane of a key, which is new if it has none. Whoever asks must `place` it. */
  of(key: unknown, limits: ReadLimits | undefined): Lane {
    let lane = this.byKey.get(key);
    if (!lane) {
      lane = new Lane(this.#owner, key);
      if (limits) lane.change(limits, 0, false);
      this.byKey.set(key, lane);
    }
    return lane;
  }

  /** The earliest moment at which a lane changes by itself. */
  get next(): number {
    const first = this.#timed[0];
    return first ? -first.priority : Infinity;
  }

  /** Sends a lane to the end of the round. */
  turn(lane: Lane): void {
    const { heap } = lane;
    if (heap) remove(heap, lane);
    lane.heap = undefined;
    lane.order = ++this.#turn;
  }

  /**
   * Gives a lane the place that it must have by the time that is known. If that is an old one, `ripen` does the rest: no
   * lane has its turn before it is called.
   */
  place(lane: Lane): void {
    const front = lane.front;
    const at = front ? lane.at(front.weight) : lane.clearAt();
    let heap: Lane[] | undefined;
    let priority = -at;
    if (at > this.#owner._time.now) {
      if (at < Infinity) heap = this.#timed;
    } else if (!front) {
      if (this.byKey.get(lane.key) === lane) this.byKey.delete(lane.key);
    } else {
      // Also who may never start: it is told so when its turn comes.
      heap = this.ready;
      priority = front.priority ?? 0;
    }
    if (lane.heap === heap && lane.priority === priority) return;
    if (lane.heap) remove(lane.heap, lane);
    lane.heap = heap;
    lane.priority = priority;
    if (heap) insert(heap, lane);
  }

  /** Gives those lanes their places that time has changed. The clock is read only if there may be some. */
  ripen(): void {
    if (this.next === Infinity) return;
    const now = this.#owner._time.read();
    while (this.next <= now) this.place(this.#timed[0] as Lane);
  }
}
