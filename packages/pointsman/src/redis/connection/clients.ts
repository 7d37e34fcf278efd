/** The clients that users have, and what is made of them: connections of one's own, and single commands. */

import { invalid } from '../../sync/errors.js';
import { Commands } from './commands.js';
import type { ConnectionFactory } from './connection.js';
import { fromIoredis, isIoredis } from './ioredis.js';
import { fromNodeRedis, isNodeRedis } from './node-redis.js';
import type { ReconnectingConnection } from './reconnecting.js';
import type { Adapter } from './socket.js';
import { Subscriptions } from './subscriptions.js';

function adapterOf(client: unknown): Adapter {
  if (isIoredis(client)) return fromIoredis(client);
  if (isNodeRedis(client)) return fromNodeRedis(client);
  throw invalid(
    'client',
    client,
    'a Redis or Cluster of ioredis, or what createClient or createCluster of node-redis returns',
  );
}

/** The connections that can be made like the one of `client`, whichever library it comes from. */
export function connectionsOf(client: unknown): ConnectionFactory {
  const adapter = adapterOf(client);
  const all = new Set<ReconnectingConnection>();
  return {
    channels: adapter.slotOf ? 'sharded' : 'plain',
    keyPrefix: adapter.keyPrefix,
    commands: (events) => new Commands(adapter, events, all),
    subscriptions: (events) => new Subscriptions(adapter, events, all),
  };
}

/** One command on the client itself, for what needs no connection of its own. */
export async function callOn(client: unknown, key: string, command: string[]): Promise<unknown> {
  return adapterOf(client).call(key, command);
}
