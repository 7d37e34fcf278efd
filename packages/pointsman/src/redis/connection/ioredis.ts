/**
 * Sockets with the settings of an ioredis client. Each is a duplicate of the client with the offline queue and
 * reconnecting disabled, because ioredis would send commands again.
 */

import { slotOf, withinASecond } from './slot.js';
import type { Adapter, Socket, SocketEvents } from './socket.js';

interface Redis {
  readonly isCluster: false;
  readonly options: {
    readonly keyPrefix?: unknown;
    readonly db?: unknown;
    readonly host?: unknown;
    readonly port?: unknown;
  };
  duplicate(options: object): Redis;
  call(command: string, ...parameters: string[]): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  ssubscribe(channel: string): Promise<unknown>;
  sunsubscribe(channel: string): Promise<unknown>;
  ping(): Promise<unknown>;
  on(event: string, listener: (...values: never[]) => void): unknown;
  disconnect(): void;
  readonly stream?: { destroy(): void };
}

interface Cluster {
  readonly isCluster: true;
  readonly options: { readonly keyPrefix?: unknown };
  /** The addresses of the nodes of each slot, the master first. */
  readonly slots: readonly (readonly string[] | undefined)[];
  nodes(role: 'master'): Redis[];
  call(command: string, ...parameters: string[]): Promise<unknown>;
}

export function isIoredis(client: unknown): client is Redis | Cluster {
  const { isCluster, call, duplicate, nodes } = Object(client) as Partial<Record<string, unknown>>;
  return (
    typeof call === 'function' &&
    typeof duplicate === 'function' &&
    (isCluster === false || (isCluster === true && typeof nodes === 'function'))
  );
}

export function fromIoredis(client: Redis | Cluster): Adapter {
  const keyPrefix = String(client.options.keyPrefix ?? '');
  const evaluate: Adapter['eval'] = (script, keys, ...parameters) =>
    client.call('EVAL', script, `${keys.length}`, ...keys, ...parameters);
  if (!client.isCluster) {
    return {
      keyPrefix,
      database: Number(client.options.db ?? 0),
      open: async (_purpose, events) => open(client, events, ''),
      eval: evaluate,
    };
  }
  return {
    keyPrefix,
    database: 0,
    slotOf,
    open: async (_purpose, events, key) => open(await masterOf(client, key), events, 's'),
    eval: evaluate,
  };
}

async function masterOf(client: Cluster, key: string): Promise<Redis> {
  // The client updates its table of slots when a server redirects it.
  await withinASecond(client.call('EXISTS', key));
  const address = client.slots[slotOf(key)]?.[0];
  for (const node of client.nodes('master')) {
    if (`${node.options.host}:${node.options.port}` === address) return node;
  }
  throw new Error(`the cluster has no node for the slot of ${key}`);
}

function open(client: Redis, events: SocketEvents, sharded: '' | 's'): Socket {
  const redis = client.duplicate({
    autoResendUnfulfilledCommands: false,
    commandTimeout: undefined,
    // A half-open socket does not reply to QUIT.
    disconnectTimeout: 0,
    enableAutoPipelining: false,
    enableOfflineQueue: false,
    keyPrefix: '',
    lazyConnect: false,
    maxRetriesPerRequest: null,
    protocol: 2,
    readOnly: false,
    reconnectOnError: null,
    replyMapping: 'legacy',
    retryStrategy: null,
    sentinelRetryStrategy: null,
    socketTimeout: undefined,
    stringNumbers: false,
  });
  const listeners = new Map<string, (message: string) => void>();
  let reason: unknown = new Error('the server has closed the connection');
  redis.on('error', (error: unknown) => {
    reason = error;
  });
  redis.on('ready', events.ready);
  redis.on('end', () => events.lost(reason));
  redis.on('moved', () => events.lost(new Error('the slot has moved')));
  redis.on(`${sharded}message`, (channel: string, message: string) =>
    listeners.get(channel)?.(message),
  );
  return {
    send: ([name = '', ...parameters]) => redis.call(name, ...parameters),
    subscribe(channel, listener) {
      listeners.set(channel, listener);
      return redis[`${sharded}subscribe`](channel);
    },
    unsubscribe(channel) {
      listeners.delete(channel);
      return redis[`${sharded}unsubscribe`](channel);
    },
    ping: () => redis.ping(),
    destroy() {
      redis.disconnect();
      // The library closes gracefully, and a reply could still arrive.
      redis.stream?.destroy();
    },
  };
}
