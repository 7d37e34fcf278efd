/**
 * A queue for each key, of the acquisitions that want it. An acquisition stands in the queues of all its
 * keys at once.
 *
 * Invariant: a key has a queue while somebody stands in it or this process owns the key.
 */

import type { Acquisition } from '../acquisition.js';
import type { Entry, KeyQueue, LocalClaim } from './local-claim.js';

/** Where an acquisition stands. */
export interface Standing {
  readonly entries: readonly Entry[];
  /** In how many queues somebody stands in front. */
  behind: number;
  /** Asked for, and not granted yet. */
  claim: LocalClaim | undefined;
}

/** How many acquisitions are looked at for further keys, and how many keys one claim takes along. */
const LOOK = 64;

export class KeyQueues {
  readonly #queues = new Map<string, KeyQueue>();
  readonly #standings = new Map<Acquisition, Standing>();

  get acquisitions(): Iterable<Acquisition> {
    return this.#standings.keys();
  }

  /** Who stands in a key's queue, the first first. */
  *in(key: string): Iterable<Acquisition> {
    for (let entry = this.#queues.get(key)?.first; entry !== undefined; entry = entry.next) {
      yield entry.acquisition;
    }
  }

  of(acquisition: Acquisition): Standing | undefined {
    return this.#standings.get(acquisition);
  }

  isWanted(key: string): boolean {
    return this.#queues.get(key)?.first !== undefined;
  }

  queueOf(key: string): KeyQueue {
    let queue = this.#queues.get(key);
    if (queue === undefined) {
      queue = { key, first: undefined, last: undefined, claim: undefined, taken: false };
      this.#queues.set(key, queue);
    }
    return queue;
  }

  /** Adds an acquisition at the end of the queues of its keys. */
  add(acquisition: Acquisition): Standing {
    const entries: Entry[] = [];
    const standing: Standing = { entries, behind: 0, claim: undefined };
    for (const key of acquisition.keys) {
      const queue = this.queueOf(key);
      const entry: Entry = { acquisition, queue, previous: queue.last, next: undefined };
      if (queue.last === undefined) {
        queue.first = entry;
      } else {
        queue.last.next = entry;
        standing.behind++;
      }
      queue.last = entry;
      entries.push(entry);
    }
    this.#standings.set(acquisition, standing);
    return standing;
  }

  /** Takes an acquisition out, and tells who is now at the front of all its queues. */
  delete(acquisition: Acquisition, standing: Standing): Acquisition[] {
    this.#standings.delete(acquisition);
    const firsts: Acquisition[] = [];
    for (const { queue, previous, next } of standing.entries) {
      if (next === undefined) queue.last = previous;
      else next.previous = previous;
      if (previous !== undefined) {
        previous.next = next;
        continue;
      }
      queue.first = next;
      queue.taken = false;
      if (next === undefined) {
        this.tidy(queue);
      } else if (--(this.#standings.get(next.acquisition) as Standing).behind === 0) {
        firsts.push(next.acquisition);
      }
    }
    return firsts;
  }

  /** Forgets a queue that nobody stands in and whose key is not owned. */
  tidy(queue: KeyQueue): void {
    if (queue.first === undefined && queue.claim === undefined) this.#queues.delete(queue.key);
  }

  /** Keys that those behind this one want, and that this process does not own. */
  wantedBehind({ keys: own }: Acquisition): readonly string[] {
    const keys = new Set(own);
    let looked = 0;
    for (const key of keys) {
      for (const acquisition of this.in(key)) {
        if (++looked > LOOK) break;
        for (const { queue } of this.#standings.get(acquisition)?.entries ?? []) {
          if (queue.claim === undefined && keys.size < own.length + LOOK) keys.add(queue.key);
        }
      }
    }
    return [...keys].slice(own.length);
  }
}
