/**
 * One command on the client that the user gave, for what needs no connection of its own.
 */

import { invalid } from '../../sync/errors.js';
import { isIoredis } from './ioredis.js';
import { isNodeRedis } from './node-redis.js';

/** `key` says which node of a cluster it goes to. */
export function callOn(client: unknown, key: string, command: string[]): Promise<unknown> {
  if (isIoredis(client)) {
    const [name = '', ...parameters] = command;
    return client.call(name, ...parameters);
  }
  if (!isNodeRedis(client)) {
    throw invalid('client', client, 'an ioredis or node-redis client or cluster');
  }
  return 'nodeClient' in client
    ? client.sendCommand(key, false, command)
    : client.sendCommand(command, {});
}
