/**
 * The store on Redis or Valkey, for the primitives of `pointsman/shared`, and writes with their fencing tokens. Needs
 * Node 20 or later (or a runtime with its modules), and ioredis or node-redis.
 *
 * @module pointsman/redis
 */

export type { StoreOptions } from '../shared/options.js';
export type { Store } from '../shared/store.js';
export type { RedisClient } from './connection/client.js';
export { fencedSet } from './fenced-set.js';
export { type RedisOptions, redis } from './store.js';
