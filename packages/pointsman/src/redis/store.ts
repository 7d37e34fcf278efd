/** The store on a Redis or Valkey server. */

import { readChoice, type StoreOptions } from '../shared/options.js';
import { BaseStore, type Store } from '../shared/store.js';
import { checkOptions } from '../sync/options.js';
import type { RedisClient } from './connection/client.js';
import { connectionsOf } from './connection/clients.js';
import type { ConnectionFactory } from './connection/connection.js';
import { Connections } from './connections.js';
import { PureHandler } from './handlers/pure.js';
import { ScriptHandler } from './handlers/script.js';
import { RedisLink } from './link.js';

/** Options for {@link redis}. */
export interface RedisOptions extends StoreOptions {
  /**
   * `script` runs a Lua script, in one round trip. `pure` uses WATCH and MULTI, in two round trips, and reads the whole
   * namespace each time. Both may share a namespace. Default `script`.
   */
  readonly handler?: 'script' | 'pure' | undefined;
}

const names: readonly string[] = ['namespace', 'ttl', 'handler', 'name'];

/**
 * Returns a store on Redis or Valkey, for the primitives of `pointsman/shared`.
 *
 * The store opens two connections of its own with the first request, with the settings of the given client. They keep
 * the process alive until the last open primitive of the store has closed.
 *
 * @param client An ioredis `Redis` or `Cluster`, or a node-redis client, pool, sentinel or cluster, version 5 or later.
 * The store never closes it. A pool or a sentinel must be connected.
 * @throws {TypeError | RangeError} if the client or an option is invalid.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis';
 * import { redis } from 'pointsman/redis';
 * import { SharedMutex } from 'pointsman/shared';
 *
 * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
 * const store = redis(client);
 * const mutex = new SharedMutex(store);
 * console.log(await mutex.run('account:1', async () => 'done')); // done
 * await store.close();
 * client.disconnect();
 * ```
 */
export function redis(client: RedisClient, options: RedisOptions = {}): Store {
  return storeOver(connectionsOf(client), options);
}

/** Returns a store over any connections to a server. */
export function storeOver(factory: ConnectionFactory, options: RedisOptions): BaseStore {
  checkOptions(options, names);
  const { handler = 'script' } = options;
  readChoice('handler', handler, ['script', 'pure']);
  const Handler = handler === 'script' ? ScriptHandler : PureHandler;
  const connections = new Connections(factory);
  return new BaseStore(
    (namespace, observer) => new RedisLink(connections, Handler, namespace, observer),
    options,
  );
}
