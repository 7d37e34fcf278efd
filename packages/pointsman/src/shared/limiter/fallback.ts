/**
 * What a process does by itself while the store does not decide, with `whenUnavailable: 'share'`: a local limiter with
 * its part of each limit, and the number of processes that the store last knew.
 *
 * Each process that uses the limiter starts once in a window of its own kind of limiter; what that window holds is the
 * number of processes.
 */

import { Limiter } from '../../sync/limiter/limiter.js';
import type { ReadRate } from '../../sync/limiter/rates.js';
import { type Weight, weighs } from '../../sync/limiter/rules.js';
import type { WaitOptions } from '../../sync/options.js';
import type { StartRequest } from '../protocol/starts.js';
import type { SharedRates } from './limits.js';

/** Milliseconds between two signs of life. */
const INTERVAL = 10_000;
const MANY = 10 ** 6;
const attendance = [{ name: 'processes', limit: MANY, per: (INTERVAL - 100) * 1000, burst: 0 }];

/** What a request has taken from this process's share of the limits. */
export interface LocalStart {
  readonly release: () => void;
  settle(actual: Weight): void;
}

export class Fallback {
  readonly #rates: SharedRates;
  #limiter: Limiter | undefined;
  #processes = 1;
  #attendedAt = Number.NEGATIVE_INFINITY;

  constructor(rates: SharedRates) {
    this.#rates = rates;
  }

  /** Returns a sign of life if it is time for one. */
  attend(): StartRequest | undefined {
    const now = performance.now();
    if (now - this.#attendedAt < INTERVAL) return undefined;
    this.#attendedAt = now;
    const group = { limiter: this.#rates.processes, rates: attendance, weights: [1] };
    return { groups: [group], within: 0, count: 1, time: 0, look: false };
  }

  /** Takes the answer to it. */
  counted(remaining: number): void {
    const processes = Math.max(1, MANY - remaining);
    if (processes === this.#processes) return;
    this.#processes = processes;
    this.changed();
  }

  /** It got no answer: the next request tries again. */
  missed(): void {
    this.#attendedAt = Number.NEGATIVE_INFINITY;
  }

  /** The limits have changed. */
  changed(): void {
    this.#limiter?.setLimits(this.#limits);
  }

  /** Resolves when this process's share of the limits admits the request. */
  async start(key: string | undefined, weight: Weight, options: WaitOptions): Promise<LocalStart> {
    const limiter = this.#open();
    const part = this.#partOf(weight);
    if (this.#rates.hasRates) {
      const start = await limiter.reserve(part, { ...options, key });
      const { concurrency: _, ...names } = part;
      const settle = (actual: Weight): void => {
        const weights = Object.keys(names).map((name) => [name, weighs(actual, name)]);
        start.settle(Object.fromEntries(weights));
      };
      return { release: start.release, settle };
    }
    const { release } = await limiter.acquire({ ...options, key, weight: part });
    return { release, settle: () => {} };
  }

  /** The same for a request that starts now or not at all. */
  tryStart(key: string | undefined, weight: Weight): Promise<LocalStart | undefined> {
    return this.start(key, weight, { timeout: 0 }).catch(() => undefined);
  }

  /** Whether a request of weight 1 could start now. Uses up nothing. */
  async couldStart(key: string | undefined): Promise<boolean> {
    const start = await this.tryStart(key, 1);
    start?.settle(0);
    start?.release();
    return start !== undefined;
  }

  #open(): Limiter {
    this.#limiter ??= new Limiter(this.#limits);
    return this.#limiter;
  }

  /** A request that is heavier than the part of a limit uses all of it. */
  #partOf(weight: Weight): Record<string, number> {
    const { concurrency, rate = [], perKey } = this.#limits;
    const most = Math.min(concurrency, perKey.concurrency);
    const parts: Record<string, number> = {
      concurrency: Math.min(weighs(weight, 'concurrency'), most),
    };
    for (const { name, limit, burst = limit } of [...rate, ...(perKey.rate ?? [])]) {
      parts[name] = Math.min(weighs(weight, name), burst, parts[name] ?? Infinity);
    }
    return parts;
  }

  close(reason: unknown): void {
    this.#limiter?.close(reason);
  }

  get #limits() {
    const { all, perKey, concurrency, keyConcurrency } = this.#rates;
    return {
      concurrency: this.#share(concurrency),
      rate: this.#part(all),
      perKey: { concurrency: this.#share(keyConcurrency), rate: this.#part(perKey) },
    };
  }

  #share(limit: number): number {
    return limit === Infinity ? limit : Math.max(1, Math.floor(limit / this.#processes));
  }

  #part(rates: readonly ReadRate[]): readonly ReadRate[] | undefined {
    if (rates.length === 0) return undefined;
    return rates.map(({ limit, burst, ...rate }) => ({
      ...rate,
      limit: this.#share(limit),
      burst: burst === undefined ? undefined : this.#share(burst),
    }));
  }
}
