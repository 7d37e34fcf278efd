/**
 * Keys and their turns.
 *
 * A lane holds the waiting requests of one key, and the rules that apply to that key alone. Invariant, between any two
 * calls: a lane is
 * - in `ready`, if its own rules let its first request start: highest priority first, then in the order of the turns;
 * - in `#timed`, if time will let its first request start, or if no request waits and time will make the key forgotten;
 *   earliest first;
 * - in neither, if a release or the log of a start must come first.
 *
 * A lane goes to the end of the round when it starts a request or gets its first waiting one; while its own rules hold
 * it back, it keeps its turn. Each change of a lane ends in `place`, in logarithmic time.
 */

import type { Permit } from '../semaphore/permit.js';
import { insert, type Ranked, remove } from '../wait/heap.js';
import { PriorityQueue } from '../wait/priority-queue.js';
import type { WaitRequest } from '../wait/queue.js';
import { Rules, type Weight } from './rules.js';
import type { Time } from './time.js';

export interface StartRequest extends WaitRequest {
  key: unknown;
  weight: Weight;
  runTimeout: number | undefined;
  /** Whether it is for `run`, which logs the start itself. */
  runs: boolean;
  /** Undefined until the request waits. */
  lane: Lane | undefined;
  dropRank: DropRank | undefined;
}

/** The position of a waiting request in the order in which requests are dropped. */
export interface DropRank extends Ranked {
  /** The negated priority of the request. */
  readonly priority: number;
  readonly request: StartRequest;
}

export interface LaneOwner {
  readonly time: Time;
  _giveBack(lane: Lane, permits: number): void;
  /** Called when a start of this lane has been logged. */
  _logged(lane: Lane): void;
  /** Called when the log of this lane has changed otherwise. */
  _changed(lane: Lane): void;
}

/** A key, which is the issuer of its permits. */
export class Lane extends Rules implements Ranked {
  readonly key: unknown;
  readonly owner: LaneOwner;
  #queue: PriorityQueue<Permit> | undefined;
  heap: Lane[] | undefined;
  /** In `ready`, the priority of its first request; in `#timed`, the negated time. */
  priority = 0;
  order = 0;
  index = 0;

  constructor(owner: LaneOwner, key?: unknown) {
    super();
    this.owner = owner;
    this.key = key;
  }

  /** Made when it is first used: most lanes never have a waiting request. */
  get queue(): PriorityQueue<Permit> {
    this.#queue ??= new PriorityQueue('');
    return this.#queue;
  }

  /** The first waiting request. One without options is stored as its resolve function, so its options are undefined. */
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
  /** The lane of the requests without a key. It always exists, and is not in `byKey`. */
  readonly unkeyed: Lane;
  readonly max: number;
  /** The rules of a new key. */
  readonly template = new Rules();
  readonly #timed: Lane[] = [];
  readonly #owner: LaneOwner;
  #turn = 0;

  constructor(owner: LaneOwner, max: number) {
    this.#owner = owner;
    this.max = max;
    this.unkeyed = new Lane(owner);
  }

  get all(): Lane[] {
    return [...this.byKey.values(), this.unkeyed];
  }

  find(key: unknown): Lane | undefined {
    return key === undefined ? this.unkeyed : this.byKey.get(key);
  }

  /** Returns the lane of a key, if necessary a new one. The caller must `place` it. */
  of(key: unknown): Lane {
    let lane = this.find(key);
    if (!lane) {
      lane = new Lane(this.#owner, key);
      lane.copy(this.template);
      this.byKey.set(key, lane);
    }
    return lane;
  }

  /** Whether the key has a lane or may get one. */
  admits(key: unknown): boolean {
    if (this.byKey.size >= this.max) this.promoteDue();
    return this.byKey.size < this.max || this.find(key) !== undefined;
  }

  /** The earliest moment at which time alone changes the place of a lane. */
  get next(): number {
    const first = this.#timed[0];
    return first ? -first.priority : Infinity;
  }

  /** Sends a lane to the end of the round. */
  endTurn(lane: Lane): void {
    const { heap } = lane;
    if (heap) remove(heap, lane);
    lane.heap = undefined;
    lane.order = ++this.#turn;
  }

  /**
   * Moves a lane to where it belongs at the last known time. `promoteDue`, which must be called before `ready` is read,
   * makes up for the time that has passed since.
   */
  place(lane: Lane): void {
    const front = lane.front;
    const at = front ? lane.availableAt(front.weight) : lane.clearAt();
    let heap: Lane[] | undefined;
    let priority = -at;
    if (at > this.#owner.time.now) {
      if (at < Infinity) heap = this.#timed;
    } else if (!front) {
      if (this.byKey.get(lane.key) === lane) this.byKey.delete(lane.key);
    } else {
      // Also a lane whose first request can never start: it is rejected when its turn comes.
      heap = this.ready;
      priority = front.priority ?? 0;
    }
    if (lane.heap === heap && lane.priority === priority) return;
    if (lane.heap) remove(lane.heap, lane);
    lane.heap = heap;
    lane.priority = priority;
    if (heap) insert(heap, lane);
  }

  /** Moves the lanes whose time has come. Reads the clock only if there may be some. */
  promoteDue(): void {
    if (this.next === Infinity) return;
    const now = this.#owner.time.read();
    while (this.next <= now) this.place(this.#timed[0] as Lane);
  }
}
