/**
 * The waiting requests of this process. A lane has those of one key. A gate is shared by the lanes with the same rates, and
 * records when the store will admit more.
 *
 * Invariant: the requests of a key are sent to the store in the order of their calls. A request that the store sends back,
 * because an earlier one has a long delay, goes first again.
 */

import type { Grant } from './decisions.js';
import type { SharedRequest } from './request.js';

/** The maximum number of requests of one gate that the store decides at a time, and of one lane in its queue. */
const MAX_UNDECIDED = 256;

/** Limits the requests in flight that share their rates: those of one key, or of all keys. */
export class Gate {
  /** Before this time of `performance.now()`, the store would send requests back. */
  until = 0;
  /** The number of requests that the store is deciding. */
  undecided = 0;
  /** Their maximum: few while the store sends requests back. */
  max = MAX_UNDECIDED;

  get isFull(): boolean {
    return this.undecided >= this.max;
  }

  admitted(): void {
    this.max = Math.min(this.max + 1, MAX_UNDECIDED);
  }

  sentBack(): void {
    this.max = Math.max(1, this.max >> 1);
  }
}

/** Starts that the store has granted ahead. */
export interface Lease {
  left: number;
  /** By `performance.now()`. */
  readonly until: number;
  readonly grant: Grant;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** A key. */
export class Lane {
  readonly key: string | undefined;
  /** Of its own requests, if those of all keys share no rates. */
  readonly gate = new Gate();
  /** Until when its own rates hold it back, although those of all requests do not. */
  heldUntil = 0;
  lease: Lease | undefined;
  /** The lease after it, which is asked for when half of it is used. */
  spare: Lease | undefined;
  /** Whether its key is requested often enough for a lease; undefined until its first request is asked for. */
  isHot: boolean | undefined;
  /** Whether the store is asked for a lease. */
  isLeasing = false;
  /** Until then it asks for single starts: the last lease was not granted in full. */
  singleUntil = 0;
  /** The number of requests that wait for the store's answer. */
  asked = 0;
  /** The requests that wait for concurrency in the store's queue. */
  readonly slotted = new Set<SharedRequest>();
  /** The requests that wait for their moment, in the order of the moments. */
  readonly timed = new Set<SharedRequest>();
  /** When it may be served again. */
  timer: ReturnType<typeof setTimeout> | undefined;
  #returned = new Set<SharedRequest>();
  readonly #queue = new Set<SharedRequest>();

  constructor(key: string | undefined) {
    this.key = key;
  }

  get waiting(): number {
    return this.#returned.size + this.#queue.size;
  }

  get front(): SharedRequest | undefined {
    const [first] = this.#returned.size > 0 ? this.#returned : this.#queue;
    return first;
  }

  *[Symbol.iterator](): Iterator<SharedRequest> {
    yield* this.#returned;
    yield* this.#queue;
  }

  append(request: SharedRequest): void {
    this.#queue.add(request);
  }

  /** Puts a request back before all later ones. */
  return(request: SharedRequest): void {
    const returned = [...this.#returned, request];
    this.#returned = new Set(returned.sort((a, b) => a.order - b.order));
  }

  delete(request: SharedRequest): void {
    if (!this.#queue.delete(request)) this.#returned.delete(request);
  }

  /** Whether nothing is to be remembered of it. */
  get isIdle(): boolean {
    const isUnused = this.lease === undefined && !this.isLeasing;
    return isUnused && this.waiting + this.asked + this.slotted.size + this.timed.size === 0;
  }

  get isFull(): boolean {
    return this.slotted.size >= MAX_UNDECIDED;
  }
}
