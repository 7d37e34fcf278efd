/**
 * Sockets with the settings of a node-redis client. Each is a duplicate of the client with reconnecting disabled, because
 * node-redis would send commands again.
 */

import { slotOf, withinASecond } from './slot.js';
import type { Adapter, Purpose, Socket, SocketEvents } from './socket.js';

interface Client {
  readonly isReady: boolean;
  readonly isPubSubActive: boolean;
  readonly options?: {
    readonly keyPrefix?: unknown;
    readonly database?: unknown;
    readonly RESP?: unknown;
    readonly socket?: object;
  };
  duplicate(options: object): Client;
  connect(): Promise<unknown>;
  destroy(): void;
  on(event: string, listener: (...values: never[]) => void): unknown;
  sendCommand(command: string[], options: object): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  sSubscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  sUnsubscribe(channel: string): Promise<unknown>;
}

/** The result of `createClientPool`. */
interface Pool {
  readonly _keyPrefix?: unknown;
  execute<T>(use: (client: Client) => T): Promise<T>;
  sendCommand(command: string[], options: object): Promise<unknown>;
}

/** The result of `createSentinel`. */
interface Sentinel {
  readonly _keyPrefix?: unknown;
  _execute<T>(readonly: boolean, use: (client: Client) => Promise<T>): Promise<T>;
  sendCommand(readonly: boolean, command: string[], options: object): Promise<unknown>;
}

interface Cluster {
  readonly slots: readonly ({ readonly master: object } | undefined)[];
  readonly _options?: { readonly keyPrefix?: unknown };
  nodeClient(node: object): Promise<Client>;
  sendCommand(key: string, readonly: boolean, command: string[]): Promise<unknown>;
}

const has = (client: unknown, ...methods: string[]): boolean =>
  methods.every(
    (method) => typeof (Object(client) as Record<string, unknown>)[method] === 'function',
  );

const isCluster = (client: unknown): client is Cluster =>
  has(client, 'sendCommand', 'sSubscribe', 'nodeClient');

const isSentinel = (client: unknown): client is Sentinel =>
  has(client, 'sendCommand', 'acquire', 'use', '_execute');

const isPool = (client: unknown): client is Pool =>
  has(client, 'sendCommand', 'execute') && 'totalClients' in (client as object);

type NodeRedis = Client | Cluster | Pool | Sentinel;

export const isNodeRedis = (client: unknown): client is NodeRedis =>
  isCluster(client) ||
  isSentinel(client) ||
  isPool(client) ||
  (has(client, 'sendCommand', 'sSubscribe', 'duplicate', 'destroy') &&
    'isPubSubActive' in (client as object));

function keyPrefixOf(client: NodeRedis): string {
  if (isSentinel(client) || isPool(client)) return String(client._keyPrefix ?? '');
  const options = isCluster(client) ? client._options : client.options;
  return String(options?.keyPrefix ?? '');
}

export function fromNodeRedis(client: NodeRedis): Adapter {
  const keyPrefix = keyPrefixOf(client);
  /** The library adds no prefix to a raw command. */
  const evaluation = (script: string, keys: readonly string[], parameters: string[]): string[] => {
    const names = keys.map((key) => keyPrefix + key);
    return ['EVAL', script, `${names.length}`, ...names, ...parameters];
  };
  if (isSentinel(client) || isPool(client)) {
    return Object.assign(lenderOf(client), {
      keyPrefix,
      eval: (script: string, keys: readonly string[], ...parameters: string[]) => {
        const command = evaluation(script, keys, parameters);
        return isSentinel(client)
          ? client.sendCommand(false, command, {})
          : client.sendCommand(command, {});
      },
    });
  }
  if (!isCluster(client)) {
    return {
      keyPrefix,
      database: Number(client.options?.database ?? 0),
      open: async (purpose, events) => open(client, purpose, events, false),
      eval: (script, keys, ...parameters) =>
        client.sendCommand(evaluation(script, keys, parameters), {}),
    };
  }
  return {
    keyPrefix,
    database: 0,
    slotOf,
    open: async (purpose, events, key) => open(await masterOf(client, key), purpose, events, true),
    eval: (script, keys, ...parameters) =>
      client.sendCommand(keyPrefix + keys[0], false, evaluation(script, keys, parameters)),
  };
}

/**
 * Opens sockets with the settings of the clients that a pool or a sentinel lends. A client is borrowed for each socket,
 * because a sentinel lends one of the current primary. It also determines the database.
 */
function lenderOf(lender: Pool | Sentinel): Pick<Adapter, 'open' | 'database'> {
  let database = 0;
  return {
    get database() {
      return database;
    },
    open: async (purpose, events) => {
      const client = isSentinel(lender)
        ? await lender._execute(false, async (client) => client)
        : await lender.execute((client) => client);
      database = Number(client.options?.database ?? 0);
      return open(client, purpose, events, false);
    },
  };
}

async function masterOf(client: Cluster, key: string): Promise<Client> {
  // The client updates its table of slots when a server redirects it.
  await withinASecond(client.sendCommand(key, false, ['EXISTS', key]));
  const master = client.slots[slotOf(key)]?.master;
  if (!master) throw new Error(`the cluster has no node for the slot of ${key}`);
  return client.nodeClient(master);
}

/** Disables the timer that the library starts for each command by default. */
const untimed = { timeout: undefined };

function open(client: Client, purpose: Purpose, events: SocketEvents, sharded: boolean): Socket {
  const redis = client.duplicate({
    clientSideCache: undefined,
    commandOptions: untimed,
    commandsQueueMaxLength: undefined,
    emitInvalidate: undefined,
    keyPrefix: undefined,
    maintNotifications: 'disabled',
    readonly: false,
    // A message is the same in all versions, and new credentials need the newer one.
    RESP: purpose === 'commands' ? 2 : client.options?.RESP,
    socket: { ...client.options?.socket, reconnectStrategy: false, socketTimeout: undefined },
  });
  // Subscribes and unsubscribes one after another for each channel: while a channel is being unsubscribed, the library
  // considers it subscribed and ignores another subscription.
  const latest = new Map<string, Promise<unknown>>();
  const next = (channel: string, change: () => Promise<unknown>): Promise<unknown> => {
    const done = (latest.get(channel) ?? Promise.resolve()).then(change, change);
    const forget = (): void => {
      if (latest.get(channel) === done) latest.delete(channel);
    };
    latest.set(channel, done);
    done.then(forget, forget);
    return done;
  };
  let connected = false;
  let destroyed = false;
  redis.on('error', (error: unknown) => {
    if (!redis.isReady) events.lost(error);
  });
  redis.on('ready', events.ready);
  // The library does not destroy a client whose socket is connecting, so that waits for the event. A failed attempt
  // ends by itself.
  redis.on('connect', () => {
    connected = true;
    if (destroyed) redis.destroy();
  });
  redis.on('sharded-channel-moved', () => events.lost(new Error('the slot has moved')));
  redis.connect().catch(events.lost);
  return {
    send: (command) => redis.sendCommand(command, untimed),
    subscribe: (channel, listener) =>
      next(channel, () => redis[sharded ? 'sSubscribe' : 'subscribe'](channel, listener)),
    unsubscribe: (channel) =>
      next(channel, () => redis[sharded ? 'sUnsubscribe' : 'unsubscribe'](channel)),
    ping: () => redis.sendCommand(['PING'], untimed),
    destroy() {
      destroyed = true;
      if (connected) redis.destroy();
    },
  };
}
