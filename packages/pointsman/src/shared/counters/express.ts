/** A store of express-rate-limit. */

import { invalid } from '../../sync/errors.js';
import type { Store } from '../store.js';
import { Counters, prefixOf, type RateLimitStoreOptions } from './counters.js';

/** The hits of a client since its window began, and the end of the window. */
export interface ExpressRateLimitHits {
  readonly totalHits: number;
  readonly resetTime: Date;
}

/** A `Store` of express-rate-limit. */
export interface ExpressRateLimitStore {
  readonly prefix: string;
  /** The counts are shared by all processes. */
  readonly localKeys: false;
  /** Called by express-rate-limit. */
  init(options: { readonly windowMs: number }): void;
  /** Resolves to undefined if the client has no window. */
  get(key: string): Promise<ExpressRateLimitHits | undefined>;
  increment(key: string): Promise<ExpressRateLimitHits>;
  decrement(key: string): Promise<void>;
  resetKey(key: string): Promise<void>;
  /** Refuses new requests, and disconnects when the store has replied to the others. */
  shutdown(): Promise<void>;
}

/** The longest window, about 300 centuries: the end of a longer one is no valid date. */
const LONGEST = 1e15;

// express-rate-limit identifies a store by the name of its class.
class CountingStore implements ExpressRateLimitStore {
  readonly prefix: string;
  readonly localKeys = false;
  readonly #counters: Counters;
  #window: number | undefined;

  constructor(counters: Counters) {
    this.#counters = counters;
    this.prefix = prefixOf(counters.name);
  }

  init({ windowMs }: { readonly windowMs: number }): void {
    if (this.#window !== undefined) {
      const { name } = this.#counters;
      throw new Error(`the store '${name}' has a limiter already: each limiter needs its own`);
    }
    if (!(windowMs > 0 && windowMs <= LONGEST)) {
      const expected = `a number of milliseconds above 0, at most ${LONGEST}`;
      throw invalid('windowMs', windowMs, expected, 'number');
    }
    this.#window = Math.ceil(windowMs);
  }

  async get(key: string): Promise<ExpressRateLimitHits | undefined> {
    const hits = await this.#count(key, 0);
    return hits.totalHits === 0 && hits.resetTime.getTime() <= Date.now() ? undefined : hits;
  }

  increment(key: string): Promise<ExpressRateLimitHits> {
    return this.#count(key, 1);
  }

  async decrement(key: string): Promise<void> {
    await this.#count(key, -1);
  }

  resetKey(key: string): Promise<void> {
    return this.#counters.forget(this.prefix + key);
  }

  shutdown(): Promise<void> {
    return this.#counters.shutdown();
  }

  async #count(key: string, by: number): Promise<ExpressRateLimitHits> {
    const window = this.#window;
    if (window === undefined) throw new Error('the store has no window: init was not called');
    const counter = this.prefix + key;
    const { total, left } = await this.#counters.count({
      counter,
      by,
      window,
      above: 0,
      growth: 0,
    });
    return { totalHits: total, resetTime: new Date(Date.now() + left) };
  }
}

/**
 * Returns a store for the option `store` of express-rate-limit 7 and 8, so that all processes of a server share one
 * limit. `store` is any store of `pointsman/host` or `pointsman/redis`; it connects with the first request.
 *
 * A request that the store cannot count within the `deadline` rejects with a {@link StoreError}: express-rate-limit
 * passes it to the error handler of Express, or lets the request through with its option `passOnStoreError`.
 *
 * @param name Names the limit: a string of at most 1000 characters, the same in all processes, different for each limiter.
 * @throws {TypeError | RangeError} if an argument is invalid.
 *
 * @example
 * ```ts
 * import { once } from 'node:events';
 * import type { AddressInfo } from 'node:net';
 * import express from 'express';
 * import { rateLimit } from 'express-rate-limit';
 * import { host } from 'pointsman/host';
 * import { expressRateLimitStore } from 'pointsman/shared';
 *
 * const store = host('express-rate-limit');
 * const app = express();
 * app.use(
 *   rateLimit({
 *     windowMs: 60_000,
 *     limit: 1,
 *     store: expressRateLimitStore(store, 'web'),
 *     keyGenerator: (request) => request.get('x-api-key') ?? '',
 *   }),
 * );
 * app.get('/', (_, response) => void response.send('hello'));
 *
 * const server = app.listen(0);
 * await once(server, 'listening');
 * const url = `http://localhost:${(server.address() as AddressInfo).port}`;
 * const headers = { 'x-api-key': crypto.randomUUID() };
 * console.log((await fetch(url, { headers })).status); // 200
 * console.log((await fetch(url, { headers })).status); // 429
 * server.close();
 * await store.close();
 * ```
 */
export const expressRateLimitStore = (
  store: Store,
  name: string,
  options: RateLimitStoreOptions = {},
): ExpressRateLimitStore => new CountingStore(new Counters(store, name, options));
