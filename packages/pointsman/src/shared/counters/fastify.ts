/** A store of @fastify/rate-limit. */

import type { Store } from '../store.js';
import { Counters, prefixOf, type RateLimitStoreOptions } from './counters.js';

/** How @fastify/rate-limit calls its store. */
type Ask = (
  key: string | number,
  callback: (error: Error | null, hits?: { current: number; ttl: number }) => void,
  timeWindow: number,
  max: number,
) => void;

/** A store of @fastify/rate-limit. */
export interface FastifyRateLimitStore {
  readonly incr: Ask;
  /** Reads like `incr`, without counting a hit. */
  readonly read: Ask;
  /** Called for each route with its own limits. */
  child(options: object): FastifyRateLimitStore;
}

/** The options of the plugin or of a route that concern its store. */
interface Rules {
  readonly continueExceeding?: boolean;
  readonly exponentialBackoff?: boolean;
  readonly routeInfo?: { readonly method?: string | readonly string[]; readonly url?: string };
}

/** The largest whole number of milliseconds or hits. */
const MOST = Number.MAX_SAFE_INTEGER;
const whole = (value: number, least: number): number =>
  Math.max(least, Math.min(Math.ceil(value), MOST)) || least;

class CountingStore implements FastifyRateLimitStore {
  readonly #counters: Counters;
  readonly #name: string;
  readonly #growth: number;

  constructor(counters: Counters, name: string, rules: Rules) {
    this.#counters = counters;
    this.#name = name;
    const { continueExceeding, exponentialBackoff } = rules;
    this.#growth = continueExceeding ? 1 : exponentialBackoff ? 2 : 0;
  }

  readonly incr: Ask = (...question) => this.#count(1, ...question);

  readonly read: Ask = (...question) => this.#count(0, ...question);

  child(options: Rules): CountingStore {
    const { method = '', url = '' } = options.routeInfo ?? {};
    return new CountingStore(this.#counters, `${this.#name}/${method} ${url}`, options);
  }

  #count(by: number, ...[key, callback, timeWindow, max]: Parameters<Ask>): void {
    const counter = prefixOf(this.#name) + key;
    const above = Math.max(0, whole(max, 0));
    const window = whole(timeWindow, 1);
    this.#counters.count({ counter, by, window, above, growth: this.#growth }).then(
      ({ total, left }) => callback(null, { current: total, ttl: left }),
      (error) => callback(error),
    );
  }
}

/**
 * Returns a class for the option `store` of @fastify/rate-limit 10 and 11, so that all processes of a server share one
 * limit. `store` is any store of `pointsman/host` or `pointsman/redis`; it connects with the first request, and the
 * application closes it.
 *
 * `continueExceeding`, `exponentialBackoff`, `ban`, groups, and limits of single routes work as with the plugin's own
 * store on Redis. A request that the store cannot count within the `deadline` fails with a {@link StoreError}, or passes
 * with the plugin's option `skipOnError`.
 *
 * @param name Names the limit: a string of at most 1000 characters, the same in all processes, different for
 * each registration of the plugin.
 * @throws {TypeError | RangeError} if an argument is invalid.
 *
 * @example
 * ```ts
 * import rateLimit from '@fastify/rate-limit';
 * import fastify from 'fastify';
 * import { host } from 'pointsman/host';
 * import { fastifyRateLimitStore } from 'pointsman/shared';
 *
 * const store = host('fastify-rate-limit');
 * const app = fastify();
 * await app.register(rateLimit, {
 *   max: 1,
 *   timeWindow: 60_000,
 *   store: fastifyRateLimitStore(store, 'web'),
 *   keyGenerator: (request) => String(request.headers['x-api-key']),
 * });
 * app.get('/', async () => 'hello');
 * app.addHook('onClose', () => store.close());
 *
 * const headers = { 'x-api-key': crypto.randomUUID() };
 * console.log((await app.inject({ url: '/', headers })).statusCode); // 200
 * console.log((await app.inject({ url: '/', headers })).statusCode); // 429
 * await app.close();
 * ```
 */
export function fastifyRateLimitStore(
  store: Store,
  name: string,
  options: RateLimitStoreOptions = {},
): new (
  options: object,
) => FastifyRateLimitStore {
  const counters = new Counters(store, name, options);
  return class extends CountingStore {
    constructor(rules: Rules) {
      super(counters, name, rules);
    }
  };
}
