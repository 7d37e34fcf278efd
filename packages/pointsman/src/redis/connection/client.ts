/**
 * The types of the accepted clients, so that another object is a type error.
 *
 * Each type has only the members that distinguish the client, with the loosest types. A program with one library needs
 * no types of the other, and clients of all versions fit, with any modules and types of replies.
 */

type Method = (...args: never[]) => unknown;

/** A `Redis` or `Cluster` of ioredis. */
interface IoredisClient {
  readonly isCluster: boolean;
  call: Method;
  duplicate: Method;
  disconnect: Method;
}

/** The result of `createClient` of node-redis. */
interface NodeRedisClient {
  readonly isPubSubActive: boolean;
  sendCommand: Method;
  sSubscribe: Method;
  duplicate: Method;
  destroy: Method;
}

/** The result of `createCluster` of node-redis. */
interface NodeRedisCluster {
  sendCommand: Method;
  sSubscribe: Method;
  nodeClient: Method;
}

/** The result of `createClientPool` of node-redis. */
interface NodeRedisPool {
  readonly totalClients: number;
  execute: Method;
  sendCommand: Method;
}

/** The result of `createSentinel` of node-redis. */
interface NodeRedisSentinel {
  acquire: Method;
  use: Method;
  sendCommand: Method;
}

/**
 * A client of ioredis or node-redis, version 5 or later: for a single server, a cluster or a sentinel, or a pool. A pool
 * or a sentinel of node-redis must be connected, because new connections copy the settings of an existing one.
 */
export type RedisClient =
  | IoredisClient
  | NodeRedisClient
  | NodeRedisCluster
  | NodeRedisPool
  | NodeRedisSentinel;
