/**
 * Starts that a process has taken ahead.
 *
 * Invariant: a start of a lease happens before the lease has ended by the store's clock, with which it is logged; the
 * rest is given back.
 */

import type { Decisions, Grant } from './decisions.js';
import { HOT, HotKeys } from './hot-keys.js';
import type { Lane, Lease } from './lanes.js';
import type { SharedRates } from './limits.js';
import type { SharedPermit } from './permit.js';
import type { Permits } from './permits.js';

interface Owner {
  /** Half of the last lease is used. */
  _askAhead(lane: Lane): void;
  /** A lease has ended. */
  _ended(lane: Lane): void;
}

/**
 * Returns when a lease ends, by `performance.now()`. By the store's clock it ends no earlier: the store counts from when it
 * received the question. `time`: that of the question, because the limits may have changed since.
 */
export const leaseEnd = (sentAt: number, time: number): number => sentAt + time * 0.99 - 1;

export class Leases {
  /** The number of starts of a lease. */
  readonly size: number;
  readonly #rates: SharedRates;
  readonly #decisions: Decisions;
  readonly #permits: Permits;
  readonly #owner: Owner;
  readonly #hot = new HotKeys();

  constructor(
    size: number,
    rates: SharedRates,
    decisions: Decisions,
    permits: Permits,
    owner: Owner,
  ) {
    this.size = size;
    this.#rates = rates;
    this.#decisions = decisions;
    this.#permits = permits;
    this.#owner = owner;
  }

  /** Whether a request of weight 1 is to be asked for with a lease. */
  isWanted(lane: Lane): boolean {
    return (
      this.size > 1 &&
      !this.#rates.isConcurrent &&
      this.#rates.leaseTime > 1 &&
      lane.spare === undefined &&
      this.#isHot(lane) &&
      performance.now() >= lane.singleUntil
    );
  }

  /** For other keys, most of a lease would be returned unused. */
  #isHot(lane: Lane): boolean {
    lane.isHot ??= this.#hot.add(lane.key, this.#rates.leaseTime);
    lane.isHot ||= lane.waiting + lane.asked >= HOT;
    return lane.isHot;
  }

  begin(lane: Lane, grant: Grant, left: number, until: number): void {
    const end = () => this.#end(lane, lease);
    const timer = setTimeout(end, Math.max(0, until - performance.now()));
    const lease = { left, until, grant, timer };
    if (lane.lease === undefined) lane.lease = lease;
    else lane.spare = lease;
  }

  take(lane: Lane): SharedPermit | undefined {
    for (let { lease } = lane; lease !== undefined; { lease } = lane) {
      if (performance.now() >= lease.until) {
        this.#end(lane, lease);
        continue;
      }
      lease.left--;
      // No object spread: it takes three times as long as the rest of a start.
      const permit = this.#permits.make({ grant: lease.grant, weight: 1 });
      if (lease.left === this.size >> 1 && !lane.isLeasing && this.isWanted(lane)) {
        this.#owner._askAhead(lane);
      }
      if (lease.left === 0) this.#end(lane, lease);
      return permit;
    }
    return undefined;
  }

  endAll(lane: Lane): void {
    for (let { lease } = lane; lease !== undefined; { lease } = lane) this.#end(lane, lease);
  }

  /** Gives the rest of a lease back. */
  #end(lane: Lane, lease: Lease): void {
    clearTimeout(lease.timer);
    if (lane.lease === lease) lane.lease = lane.spare;
    lane.spare = undefined;
    // If it was used, the key begins its next lease at once.
    const used = this.size - lease.left;
    if (used >= HOT) this.#hot.add(lane.key, this.#rates.leaseTime, used);
    if (lease.left > 0) this.#decisions.giveBack(lease.grant, lease.left);
    this.#owner._ended(lane);
  }
}
