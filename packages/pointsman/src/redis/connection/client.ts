/**
 * What the client libraries have in common with no other object, so that a wrong one is an error of types.
 *
 * Only the members that tell a client apart, with types that say as little as they can: whoever has one of the
 * libraries needs no types of the other, and any version's client fits, with whatever modules and types of replies
 * it was made.
 */

type Method = (...args: never[]) => unknown;

/** A `Redis` or `Cluster` of ioredis. */
interface IoredisClient {
  readonly isCluster: boolean;
  call: Method;
  duplicate: Method;
  disconnect: Method;
}

/** What `createClient` of node-redis returns. */
interface NodeRedisClient {
  readonly isPubSubActive: boolean;
  sendCommand: Method;
  sSubscribe: Method;
  duplicate: Method;
  destroy: Method;
}

/** What `createCluster` of node-redis returns. */
interface NodeRedisCluster {
  sendCommand: Method;
  sSubscribe: Method;
  nodeClient: Method;
}

/** What `createClientPool` of node-redis returns. */
interface NodeRedisPool {
  readonly totalClients: number;
  execute: Method;
  sendCommand: Method;
}

/** What `createSentinel` of node-redis returns. */
interface NodeRedisSentinel {
  acquire: Method;
  use: Method;
  sendCommand: Method;
}

/**
 * A client of ioredis or node-redis, version 5 or later: for a single server, a cluster or a sentinel, or a pool. A pool
 * or a sentinel of node-redis must be connected, because new connections are made like those that it has.
 */
export type RedisClient =
  | IoredisClient
  | NodeRedisClient
  | NodeRedisCluster
  | NodeRedisPool
  | NodeRedisSentinel;
