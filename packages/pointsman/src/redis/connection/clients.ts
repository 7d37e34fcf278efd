/** Chooses the adapter for a client, and creates connections with its settings. */

import { invalid } from '../../sync/errors.js';
import type { ConnectionFactory } from './connection.js';
import { fromIoredis, isIoredis } from './ioredis.js';
import { fromNodeRedis, isNodeRedis } from './node-redis.js';
import { Commands, type ReconnectingConnection } from './reconnecting.js';
import type { Adapter } from './socket.js';
import { Subscriptions } from './subscriptions.js';

export function adapterOf(client: unknown): Adapter {
  if (isIoredis(client)) return fromIoredis(client);
  if (isNodeRedis(client)) return fromNodeRedis(client);
  throw invalid(
    'client',
    client,
    'a Redis or Cluster of ioredis 5 or later, or what createClient, createClientPool, createSentinel or createCluster of node-redis 5 or later returns',
  );
}

export function connectionsOf(client: unknown): ConnectionFactory {
  const adapter = adapterOf(client);
  const all = new Set<ReconnectingConnection>();
  return {
    channels: adapter.slotOf ? 'sharded' : 'plain',
    keyPrefix: adapter.keyPrefix,
    get database() {
      return adapter.database;
    },
    commands: (events) => new Commands(adapter, events, all),
    subscriptions: (events) => new Subscriptions(adapter, events, all),
  };
}
