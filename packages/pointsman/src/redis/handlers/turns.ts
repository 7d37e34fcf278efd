/**
 * Turns among processes that write a namespace by optimistic transactions, which fail when another is faster.
 *
 * Invariant: a process whose transaction has failed {@link TRIES} times stands in a queue on the server, and while any
 * process stands there only the first writes. So it fails at most once more for each transaction that began before it
 * joined, and processes are served in the order in which they joined, however long each computes.
 *
 * A process that has died, or stands still, is taken out by those behind it when it has been the first for longer than a
 * quarter of a lease, and longer than some of their own attempts: on a busy machine all are slow. It joins again at the
 * end if it goes on. The queue is only for progress: exclusion is that of the transactions.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

type Call = (...command: string[]) => Promise<unknown>;

/** Transactions that may fail before the process joins the queue: short ones succeed sooner without. */
export const TRIES = 3;
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
  /** How many transactions have failed since the last that succeeded. */
  #failed = 0;

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
    if (first === null || first === this.#me) return true;
    this.#failed = TRIES;
    return false;
  }

  /** What ends the turn, to be carried out with what is written. */
  get end(): string[][] {
    return this.#standing ? [['LREM', this.#key, '0', this.#me]] : [];
  }

  /** The turn has ended by what {@link end} says. */
  ended(): void {
    this.#standing = false;
    this.#failed = 0;
  }

  /** A transaction has failed, after so many milliseconds. */
  failed(time: number): void {
    this.#slowest = Math.max(this.#slowest * 0.9, time);
    this.#failed++;
  }

  /**
   * Resolves when it is worth trying again: at once, or if the process has failed too often, when it has joined the
   * queue and is the first. `ttl`: the lease that is to survive the wait.
   */
  async wait(ttl: number): Promise<void> {
    if (this.#failed < TRIES) return;
    let first: unknown;
    let since = 0;
    let join = !this.#standing;
    for (;;) {
      const queue = await this.#look(join ? ttl : undefined);
      const place = queue.indexOf(this.#me);
      join = place < 0;
      if (place === 0) return;
      if (queue[0] !== first) {
        first = queue[0];
        since = performance.now();
      } else if (performance.now() - since > Math.max(ttl / 4, ATTEMPTS * this.#slowest)) {
        await this.#call('LREM', this.#key, '1', String(first));
      }
      if (!join) await delay(Math.min(LOOK * place, LONGEST_LOOK));
    }
  }

  /** The queue; with a `ttl` after this process has joined it. */
  async #look(ttl: number | undefined): Promise<string[]> {
    const calls: Promise<unknown>[] = [];
    if (ttl !== undefined) {
      this.#standing = true;
      calls.push(this.#call('RPUSH', this.#key, this.#me));
      calls.push(this.#call('PEXPIRE', this.#key, `${3 * ttl}`));
    }
    calls.push(this.#call('LRANGE', this.#key, '0', '-1'));
    return (await Promise.all(calls)).at(-1) as string[];
  }

  /** Leaves the queue without having written. */
  async quit(): Promise<void> {
    if (!this.#standing) return;
    this.#standing = false;
    await this.#call('LREM', this.#key, '0', this.#me).catch(() => {});
  }
}
