/**
 * A queue, on the server, of processes that write with optimistic transactions, which fail if another process writes
 * first.
 *
 * Invariant: a process whose transactions have failed {@link TRIES} times joins the queue, and while the queue is not
 * empty only its first process writes. So a process fails at most once more for each transaction that began before it
 * joined, and processes are served in the order in which they joined, however long each computes.
 *
 * A first process that has died or is suspended is removed by the next ones, when it has been the first for longer than a
 * quarter of a lease and longer than several of their own attempts, because on a busy machine all are slow. It is removed
 * after half a lease at the latest, before those behind it lose their own leases. If it continues, it joins again at the
 * end. The queue only ensures progress; the transactions ensure exclusion.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

type Call = (...command: string[]) => Promise<unknown>;

/** Transactions that may fail before the process joins the queue; short ones succeed sooner without it. */
export const TRIES = 3;
/** Milliseconds between two polls of the queue by the second process; those behind it poll less often. */
const POLL = 1;
const LONGEST_POLL = 50;
/** A first process that takes longer than this many attempts of a waiting process is presumed dead. */
const ATTEMPTS = 8;

export class WriterQueue {
  readonly #call: Call;
  readonly #key: string;
  readonly #me = randomUUID();
  /** Whether this process may be in the queue. */
  #joined = false;
  /** Milliseconds of the longest recent attempt. */
  #slowest = 0;
  /** The first process, and since when. Kept across waits, because a lost connection ends a wait early. */
  #first: unknown = null;
  #since = 0;
  #failed = 0;

  constructor(call: Call, key: string) {
    this.#call = call;
    this.#key = key;
  }

  first(): Promise<unknown> {
    return this.#call('LINDEX', this.#key, '0');
  }

  /** Whether this process may write while `first` is the first. */
  mayWrite(first: unknown): boolean {
    this.#see(first);
    if (first === null || first === this.#me) return true;
    this.#failed = TRIES;
    return false;
  }

  /** The commands that leave the queue, to be part of the transaction. */
  get end(): string[][] {
    return this.#joined ? [['LREM', this.#key, '0', this.#me]] : [];
  }

  /** Called after a successful transaction with {@link end}. */
  ended(): void {
    this.#joined = false;
    this.#failed = 0;
  }

  /** Called after a failed transaction, with its duration. */
  failed(time: number): void {
    this.#slowest = Math.max(this.#slowest * 0.9, time);
    this.#failed++;
  }

  /**
   * Resolves when the process should retry: at once, or, after too many failures, when it has joined the queue and is the
   * first. `ttl`: the length of its lease.
   */
  async wait(ttl: number): Promise<void> {
    if (this.#failed < TRIES) return;
    const attempts = ATTEMPTS * this.#slowest;
    const patience = Math.max(ttl / 4, Math.min(attempts, ttl / 2));
    let join = !this.#joined;
    for (;;) {
      const queue = await this.#poll(join ? ttl : undefined);
      const place = queue.indexOf(this.#me);
      join = place < 0;
      if (place === 0) return;
      this.#see(queue[0]);
      if (performance.now() - this.#since > patience) {
        await this.#call('LREM', this.#key, '1', String(queue[0]));
      }
      if (!join) await delay(Math.min(POLL * place, LONGEST_POLL));
    }
  }

  #see(first: unknown): void {
    if (first === this.#first) return;
    this.#first = first;
    this.#since = performance.now();
  }

  /** Reads the queue. With a `ttl`, this process joins it first. */
  async #poll(ttl: number | undefined): Promise<string[]> {
    const calls: Promise<unknown>[] = [];
    if (ttl !== undefined) {
      this.#joined = true;
      calls.push(this.#call('RPUSH', this.#key, this.#me));
      calls.push(this.#call('PEXPIRE', this.#key, `${3 * ttl}`));
    }
    calls.push(this.#call('LRANGE', this.#key, '0', '-1'));
    return (await Promise.all(calls)).at(-1) as string[];
  }

  /** Leaves the queue without having written. If that fails, its next transaction removes it. */
  async quit(): Promise<void> {
    if (!this.#joined) return;
    try {
      await this.#call('LREM', this.#key, '0', this.#me);
      this.#joined = false;
    } catch {}
  }
}
