/**
 * Turns among processes that write a namespace by optimistic transactions, which fail when another is faster.
 *
 * Invariant: a process whose transaction has failed stands in a queue on the server, and while any process stands there
 * only the first writes. So it fails at most once more for each transaction that began before it joined, and processes
 * are served in the order in which they joined, however long each computes.
 *
 * A process that has died, or stands still, is taken out by those behind it when it has been the first for longer than a
 * quarter of a lease, and longer than some of their own attempts: on a busy machine all are slow. It joins again at the
 * end if it goes on. The queue is only for progress: exclusion is that of the transactions.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

type Call = (...command: string[]) => Promise<unknown>;

/** Milliseconds between two looks at the queue for the process behind the first; those behind it look less often. */
const LOOK = 1;
const LONGEST_LOOK = 50;
/** A process that takes longer than so many attempts of another is taken for dead. */
const ATTEMPTS = 8;

export class Turns {
  readonly #call: Call;
  readonly #key: string;
  readonly #me = randomUUID();
  /** Whether it may stand in the queue. */
  #standing = false;
  /** Milliseconds that an attempt takes, the longest of the latest. */
  #slowest = 0;

  constructor(call: Call, key: string) {
    this.#call = call;
    this.#key = key;
  }

  /** The first of the queue, null if there is none. */
  first(): Promise<unknown> {
    return this.#call('LINDEX', this.#key, '0');
  }

  /** Whether this process may write while `first` is the first of the queue. */
  mayWrite(first: unknown): boolean {
    return first === null || first === this.#me;
  }

  /** What ends the turn, to be carried out with what is written. */
  get end(): string[][] {
    return this.#standing ? [['LREM', this.#key, '0', this.#me]] : [];
  }

  /** The turn has ended by what {@link end} says. */
  ended(): void {
    this.#standing = false;
  }

  /** Takes in how long an attempt took, in milliseconds. */
  took(time: number): void {
    this.#slowest = Math.max(this.#slowest * 0.9, time);
  }

  /** Joins the queue, and resolves when this process is the first. `ttl`: the lease that is to survive the wait. */
  async wait(ttl: number): Promise<void> {
    let first: unknown;
    let since = 0;
    for (;;) {
      const queue = (await this.#call('LRANGE', this.#key, '0', '-1')) as string[];
      const place = queue.indexOf(this.#me);
      if (place === 0) return;
      if (place < 0) {
        this.#standing = true;
        await Promise.all([
          this.#call('RPUSH', this.#key, this.#me),
          this.#call('PEXPIRE', this.#key, `${3 * ttl}`),
        ]);
        continue;
      }
      if (queue[0] !== first) {
        first = queue[0];
        since = performance.now();
      } else if (performance.now() - since > Math.max(ttl / 4, ATTEMPTS * this.#slowest)) {
        await this.#call('LREM', this.#key, '1', String(first));
      }
      await delay(Math.min(LOOK * place, LONGEST_LOOK));
    }
  }

  /** Leaves the queue without having written. */
  async quit(): Promise<void> {
    if (!this.#standing) return;
    this.#standing = false;
    await this.#call('LREM', this.#key, '0', this.#me).catch(() => {});
  }
}
