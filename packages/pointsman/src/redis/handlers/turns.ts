/**
 * Turns of the processes that write a namespace with optimistic transactions, which fail when another process is faster.
 *
 * Invariant: a process whose transaction has failed {@link TRIES} times joins a queue on the server, and while the queue
 * is not empty only its first process writes. So a process fails at most once more for each transaction that began before
 * it joined, and processes are served in the order in which they joined, however long each computes.
 *
 * A process that has died or is suspended is removed by those behind it when it has been the first for longer than a
 * quarter of a lease, and longer than several of their own attempts: on a busy machine all are slow. It is removed after
 * half a lease at the latest, before those behind it lose their own leases. If it continues, it joins again at the end.
 * The queue only ensures progress; the transactions ensure exclusion.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

type Call = (...command: string[]) => Promise<unknown>;

/** Transactions that may fail before the process joins the queue: short ones succeed sooner without it. */
export const TRIES = 3;
/** Milliseconds between two polls of the queue by the second process; those behind it poll less often. */
const LOOK = 1;
const LONGEST_LOOK = 50;
/** A first process that takes longer than this many attempts of another process is presumed dead. */
const ATTEMPTS = 8;

export class Turns {
  readonly #call: Call;
  readonly #key: string;
  readonly #me = randomUUID();
  /** Whether this process may be in the queue. */
  #standing = false;
  /** The duration of the longest recent attempt, in milliseconds. */
  #slowest = 0;
  /** The first of the queue, and since when. Kept for longer than one wait, which a lost connection ends early. */
  #first: unknown = null;
  #since = 0;
  /** The number of failed transactions since the last success. */
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
    this.#see(first);
    if (first === null || first === this.#me) return true;
    this.#failed = TRIES;
    return false;
  }

  /** The commands that end the turn; they are part of the transaction. */
  get end(): string[][] {
    return this.#standing ? [['LREM', this.#key, '0', this.#me]] : [];
  }

  /** Called when the transaction with the commands of {@link end} has succeeded. */
  ended(): void {
    this.#standing = false;
    this.#failed = 0;
  }

  /** Called when a transaction has failed, with its duration in milliseconds. */
  failed(time: number): void {
    this.#slowest = Math.max(this.#slowest * 0.9, time);
    this.#failed++;
  }

  /**
   * Resolves when the process should retry: at once, or, if it has failed too often, when it has joined the queue and is
   * the first. `ttl`: the lease that has to outlast the wait.
   */
  async wait(ttl: number): Promise<void> {
    if (this.#failed < TRIES) return;
    const attempts = ATTEMPTS * this.#slowest;
    const patience = Math.max(ttl / 4, Math.min(attempts, ttl / 2));
    let join = !this.#standing;
    for (;;) {
      const queue = await this.#look(join ? ttl : undefined);
      const place = queue.indexOf(this.#me);
      join = place < 0;
      if (place === 0) return;
      this.#see(queue[0]);
      if (performance.now() - this.#since > patience) {
        await this.#call('LREM', this.#key, '1', String(queue[0]));
      }
      if (!join) await delay(Math.min(LOOK * place, LONGEST_LOOK));
    }
  }

  #see(first: unknown): void {
    if (first === this.#first) return;
    this.#first = first;
    this.#since = performance.now();
  }

  /** Reads the queue. With a `ttl`, this process joins it first. */
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

  /** Leaves the queue without having written. If it cannot, the end of its next turn takes it out. */
  async quit(): Promise<void> {
    if (!this.#standing) return;
    try {
      await this.#call('LREM', this.#key, '0', this.#me);
      this.#standing = false;
    } catch {}
  }
}
