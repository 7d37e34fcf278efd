/**
 * A queue for each key, of the acquisitions that want it. An acquisition is in the queues of all its keys at once.
 *
 * Invariant: a key has a queue while an acquisition is in it or this process owns the key.
 */

import type { Acquisition } from '../acquisition.js';
import type { Claim } from '../session/claims.js';

export interface KeyQueue {
  readonly key: string;
  first: KeyNode | undefined;
  last: KeyNode | undefined;
  /** The claim through which this process owns the key. */
  claim: Claim | undefined;
  /** Whether the first acquisition holds the lock, or is being admitted. */
  busy: boolean;
}

/** An acquisition in the queue of one key. */
export interface KeyNode {
  readonly acquisition: Acquisition;
  readonly queue: KeyQueue;
  previous: KeyNode | undefined;
  next: KeyNode | undefined;
}

export interface Positions {
  readonly nodes: readonly KeyNode[];
  /** In how many of the queues it is not the first. */
  behind: number;
  /** The claim requested for it and not yet granted. */
  claim: Claim | undefined;
}

/** Maximum number of acquisitions searched for further keys, and of keys added to one claim. */
const MAX_OPTIONAL = 64;

export class KeyQueues {
  readonly #queues = new Map<string, KeyQueue>();
  readonly #positions = new Map<Acquisition, Positions>();

  get acquisitions(): Iterable<Acquisition> {
    return this.#positions.keys();
  }

  *in(key: string): Iterable<Acquisition> {
    for (let node = this.#queues.get(key)?.first; node !== undefined; node = node.next) {
      yield node.acquisition;
    }
  }

  of(acquisition: Acquisition): Positions | undefined {
    return this.#positions.get(acquisition);
  }

  isWanted(key: string): boolean {
    return this.#queues.get(key)?.first !== undefined;
  }

  queueOf(key: string): KeyQueue {
    let queue = this.#queues.get(key);
    if (queue === undefined) {
      queue = { key, first: undefined, last: undefined, claim: undefined, busy: false };
      this.#queues.set(key, queue);
    }
    return queue;
  }

  add(acquisition: Acquisition): Positions {
    const nodes: KeyNode[] = [];
    const positions: Positions = { nodes, behind: 0, claim: undefined };
    for (const key of acquisition.keys) {
      const queue = this.queueOf(key);
      const node: KeyNode = { acquisition, queue, previous: queue.last, next: undefined };
      if (queue.last === undefined) {
        queue.first = node;
      } else {
        queue.last.next = node;
        positions.behind++;
      }
      queue.last = node;
      nodes.push(node);
    }
    this.#positions.set(acquisition, positions);
    return positions;
  }

  /** Removes an acquisition. Returns those that are now the first in all their queues. */
  delete(acquisition: Acquisition, positions: Positions): Acquisition[] {
    this.#positions.delete(acquisition);
    const firsts: Acquisition[] = [];
    for (const { queue, previous, next } of positions.nodes) {
      if (next === undefined) queue.last = previous;
      else next.previous = previous;
      if (previous !== undefined) {
        previous.next = next;
        continue;
      }
      queue.first = next;
      queue.busy = false;
      if (next === undefined) {
        this.tidy(queue);
      } else if (--(this.#positions.get(next.acquisition) as Positions).behind === 0) {
        firsts.push(next.acquisition);
      }
    }
    return firsts;
  }

  tidy(queue: KeyQueue): void {
    if (queue.first === undefined && queue.claim === undefined) this.#queues.delete(queue.key);
  }

  /** The keys that acquisitions behind this one want, and that this process does not own. */
  wantedBehind({ keys: own }: Acquisition): readonly string[] {
    const keys = new Set(own);
    let searched = 0;
    for (const key of keys) {
      for (const acquisition of this.in(key)) {
        if (++searched > MAX_OPTIONAL) break;
        for (const { queue } of this.#positions.get(acquisition)?.nodes ?? []) {
          if (queue.claim === undefined && keys.size < own.length + MAX_OPTIONAL)
            keys.add(queue.key);
        }
      }
    }
    return [...keys].slice(own.length);
  }
}
