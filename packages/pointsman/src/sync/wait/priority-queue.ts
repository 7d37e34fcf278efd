/**
 * The wait queue of the primitives that grant permits: highest priority first, FIFO within a priority.
 *
 * Waiters with priority 0 are in the list of the `WaitQueue`, all others in a binary heap (`heap.ts`).
 */

import { checkInteger, invalid } from '../errors.js';
import { checkOptions } from '../options.js';
import { insert, remove } from './heap.js';
import { createRequest, type Waiter, WaitQueue, type WaitRequest } from './queue.js';

/** Reads the options of a request for permits. As `readWait`. */
export function readRequest(
  options: { readonly [Name in keyof WaitRequest]?: WaitRequest[Name] | undefined } = {},
  names: readonly string[],
  maxPermits = 1,
): WaitRequest {
  checkOptions(options, names);
  const { permits = 1, priority = 0, owner, group } = options;
  checkInteger('permits', permits, 1, maxPermits);
  if (!Number.isFinite(priority)) throw invalid('priority', priority, 'a finite number', 'number');
  const request = createRequest(options);
  request.permits = permits;
  request.priority = priority;
  request.owner = owner;
  request.group = group;
  return request;
}

/** Counts the arrivals at all queues: a field of each queue would cost time for each key of a `Keyed`. */
let arrivals = 0;

/** @internal */
export class PriorityQueue<Grant> extends WaitQueue<Grant> {
  readonly #heap: WaitRequest[] = [];

  override get length(): number {
    return this._list.length + this.#heap.length;
  }

  override get plain(): boolean {
    return super.plain && this.#heap.length === 0;
  }

  override get front(): Waiter | undefined {
    const first = this.#heap[0];
    return first && (first.priority > 0 || this._list.length === 0) ? first : this._list.front;
  }

  /** The priority that a new request must exceed to go before all waiters. */
  get priority(): number {
    const { front } = this;
    return front ? (front.priority ?? 0) : -Infinity;
  }

  override put(request: WaitRequest): void {
    if (request.priority === 0) {
      super.put(request);
    } else {
      request.order = arrivals++;
      insert(this.#heap, request);
    }
  }

  override take(waiter: Waiter): void {
    if (waiter.priority) remove(this.#heap, waiter);
    else super.take(waiter);
  }
}
