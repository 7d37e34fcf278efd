/** All adapters behave the same, on a real server behind a proxy that loses connections. */
import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster } from 'redis';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest';
import { createOldClient, OldestRedis } from '../../../tests/redis/clients.js';
import { soon } from '../../../tests/redis/scene.js';
import { type FaultyProxy, startProxy } from '../../../tests/servers/proxy.js';
import { type Server, startServer } from '../../../tests/servers/server.js';
import { ConnectionLostError } from '../../shared/store.js';
import { connectionsOf } from './clients.js';
import type { ConnectionEvents, ConnectionFactory } from './connection.js';
import { Commands } from './reconnecting.js';
import { slotOf } from './slot.js';
import type { Adapter, Socket, SocketEvents } from './socket.js';

/** A client of an application. */
interface Client {
  readonly client: unknown;
  close(): void;
}

type Connect = (port: number) => Promise<Client>;

const ignore = (): void => {};

const ioredis =
  (options: object = {}, Client = Redis): Connect =>
  async (port) => {
    const client = new Client({ port, ...options });
    client.on('error', ignore);
    return { client, close: () => client.disconnect() };
  };

const nodeRedis =
  (options: object = {}, create = createClient): Connect =>
  async (port) => {
    const client = create({ url: `redis://127.0.0.1:${port}`, ...options });
    client.on('error', ignore);
    await client.connect();
    return { client, close: () => client.destroy() };
  };

// The node reports its own port, which is translated to that of the proxy.
const ioredisCluster: Connect = async (port) => {
  const natMap = (): { host: string; port: number } => ({ host: '127.0.0.1', port });
  const client = new Cluster([{ host: '127.0.0.1', port }], { natMap });
  client.on('error', ignore);
  return { client, close: () => client.disconnect() };
};

const nodeRedisCluster: Connect = async (port) => {
  const client = createCluster({
    rootNodes: [{ url: `redis://127.0.0.1:${port}` }],
    nodeAddressMap: () => ({ host: '127.0.0.1', port }),
  });
  client.on('error', ignore);
  await client.connect();
  return { client, close: () => client.destroy() };
};

interface Case {
  readonly name: string;
  readonly connect: Connect;
  readonly cluster: boolean;
}

/** Clients with unusual settings; all other tests use the defaults. */
const cases: Case[] = [
  {
    name: 'ioredis, set up unhelpfully',
    connect: ioredis({
      commandTimeout: 1,
      enableAutoPipelining: true,
      lazyConnect: true,
      protocol: 3,
      replyMapping: 'resp3',
      stringNumbers: true,
      retryStrategy: null,
    }),
    cluster: false,
  },
  { name: 'node-redis with RESP 2', connect: nodeRedis({ RESP: 2 }), cluster: false },
  {
    name: 'node-redis, set up unhelpfully',
    connect: nodeRedis({
      RESP: 3,
      clientSideCache: {},
      commandOptions: { timeout: 1, typeMapping: { 36: Buffer } },
      commandsQueueMaxLength: 5,
    }),
    cluster: false,
  },
  { name: 'ioredis, the oldest', connect: ioredis({}, OldestRedis), cluster: false },
  { name: 'node-redis 5', connect: nodeRedis({}, createOldClient), cluster: false },
  { name: 'ioredis, a cluster', connect: ioredisCluster, cluster: true },
  { name: 'node-redis, a cluster', connect: nodeRedisCluster, cluster: true },
];

describe.each(cases)('$name', ({ connect, cluster }) => {
  let server: Server;
  let proxy: FaultyProxy;

  beforeAll(async () => {
    server = await startServer({ cluster });
    proxy = await startProxy(server.port);
  });
  afterAll(async () => {
    await proxy.stop();
    await server.stop();
  });

  async function factory(): Promise<ConnectionFactory> {
    const { client, close } = await connect(proxy.port);
    onTestFinished(close);
    return connectionsOf(client);
  }

  /** Opens a connection and waits until it is up. */
  async function established<C extends { close(): Promise<void> }>(
    open: (factory: ConnectionFactory, events: ConnectionEvents) => C,
  ) {
    const events: string[] = [];
    const connection = open(await factory(), {
      up: () => events.push('up'),
      down: () => events.push('down'),
    });
    onTestFinished(() => connection.close());
    await vi.waitFor(() => expect(events).toEqual(['up']), soon);
    return { connection, events };
  }

  async function commands() {
    const opened = await established((factory, events) => factory.commands(events));
    const call = (name: string, ...parameters: string[]): Promise<unknown> =>
      opened.connection.call('{a}key', name, ...parameters);
    await call('PING');
    return { ...opened, call };
  }

  const subscriptions = () => established((factory, events) => factory.subscriptions(events));

  const publish = (channel: string, message: string): Promise<unknown> =>
    server.command(cluster ? 'SPUBLISH' : 'PUBLISH', channel, message);

  test('replies have the types of RESP 2', async () => {
    const { call } = await commands();
    await call('DEL', '{a}hash', '{a}set');
    expect(await call('HSET', '{a}hash', 'field', 'é')).toBe(1);
    expect(await call('HGETALL', '{a}hash')).toEqual(['field', 'é']);
    expect(await call('HGET', '{a}hash', 'other')).toBe(null);
    await call('ZADD', '{a}set', '1.5', 'member');
    expect(await call('ZSCORE', '{a}set', 'member')).toBe('1.5');
    expect(await call('ZRANGE', '{a}set', '0', '-1', 'WITHSCORES')).toEqual(['member', '1.5']);
    const script = "return {1, 'two', false, {redis.call('INCR', KEYS[1])}, '3'}";
    await call('DEL', '{a}n');
    expect(await call('EVAL', script, '1', '{a}n')).toEqual([1, 'two', null, [1], '3']);
  });

  test("the server's errors pass through", async () => {
    const { call, events } = await commands();
    await call('SET', '{a}text', 'value');
    const error = (await call('INCR', '{a}text').catch((error) => error)) as Error;
    expect(error).not.toBeInstanceOf(ConnectionLostError);
    expect(error.message).toMatch(/^ERR value is not an integer/);
    await expect(call('EVALSHA', '0'.repeat(40), '1', '{a}n')).rejects.toThrow(/^NOSCRIPT /);
    expect(events).toEqual(['up']);
  });

  test('consecutive calls are sent in order on one connection', async () => {
    const { call } = await commands();
    await call('SET', '{a}n', '1');
    const replies = await Promise.all([
      call('WATCH', '{a}n'),
      call('MULTI'),
      call('INCR', '{a}n'),
      call('EXEC'),
    ]);
    expect(replies).toEqual(['OK', 'OK', 'QUEUED', [2]]);
    await call('WATCH', '{a}n');
    await server.command('SET', '{a}n', '7');
    expect(await Promise.all([call('MULTI'), call('INCR', '{a}n'), call('EXEC')])).toEqual([
      'OK',
      'QUEUED',
      null,
    ]);
  });

  test('a command whose reply is lost rejects, and is never sent again', async () => {
    const { call, events } = await commands();
    await call('DEL', '{a}count');
    proxy.holdReplies();
    const outcomes = Array.from({ length: 10 }, () =>
      call('INCR', '{a}count').catch((error) => error),
    );
    await vi.waitFor(async () => expect(await server.command('GET', '{a}count')).toBe('10'), soon);
    proxy.cut();
    proxy.letGo();
    for (const outcome of await Promise.all(outcomes))
      expect(outcome).toBeInstanceOf(ConnectionLostError);
    await vi.waitFor(() => expect(events).toEqual(['up', 'down', 'up']), soon);
    expect(await call('INCR', '{a}count')).toBe(11);
  });

  test('a call while the connection is down rejects at once; the connection is established again', async () => {
    const { call, events } = await commands();
    proxy.blackhole(true);
    proxy.cut();
    await vi.waitFor(() => expect(events).toEqual(['up', 'down']), soon);
    await expect(call('PING')).rejects.toThrow(ConnectionLostError);
    proxy.blackhole(false);
    proxy.cut();
    await vi.waitFor(() => expect(events).toEqual(['up', 'down', 'up']), 5_000);
    expect(await call('PING')).toBe('PONG');
  });

  test('reconnect() drops a half-open connection', async () => {
    const { connection, call, events } = await commands();
    proxy.blackhole(true);
    const lost = call('PING').catch((error) => {
      events.push('lost');
      return error;
    });
    proxy.blackhole(false);
    connection.reconnect();
    expect(await lost).toBeInstanceOf(ConnectionLostError);
    await vi.waitFor(() => expect(events).toEqual(['up', 'down', 'lost', 'up']), 5_000);
    expect(await call('PING')).toBe('PONG');
  });

  test('a subscription receives messages, survives a lost connection, and ends', async () => {
    const { connection, events } = await subscriptions();
    const heard: string[] = [];
    await connection.subscribe('{a}one', (message) => heard.push(message));
    await connection.subscribe('{a}two', (message) => heard.push(message));
    expect(await publish('{a}one', 'é')).toBe(1);
    await vi.waitFor(() => expect(heard).toEqual(['é']), soon);

    proxy.cut();
    await vi.waitFor(() => expect(events).toEqual(['up', 'down', 'up']), soon);
    await publish('{a}one', '1');
    await publish('{a}two', '2');
    await vi.waitFor(() => expect(heard.sort()).toEqual(['1', '2', 'é']), soon);

    connection.reconnect();
    await vi.waitFor(() => expect(events).toEqual(['up', 'down', 'up', 'down', 'up']), soon);
    await connection.unsubscribe('{a}one');
    await vi.waitFor(async () => expect(await publish('{a}one', 'nobody')).toBe(0), soon);
    expect(await publish('{a}two', 'still')).toBe(1);
    await vi.waitFor(() => expect(heard).toContain('still'), soon);
    expect(heard).not.toContain('nobody');
  });

  test('a channel that is unsubscribed and subscribed at once receives messages', async () => {
    const { connection } = await subscriptions();
    const heard: string[] = [];
    await connection.subscribe('{a}two', ignore);
    await connection.subscribe('{a}one', (message) => heard.push(`first ${message}`));
    proxy.holdReplies();
    const left = connection.unsubscribe('{a}one');
    const again = connection.subscribe('{a}one', (message) => heard.push(message));
    proxy.letGo();
    await Promise.all([left, again]);
    expect(await publish('{a}one', 'again')).toBe(1);
    await vi.waitFor(() => expect(heard).toEqual(['again']), soon);
  });

  test('a ping resolves on a connection with subscriptions, and rejects when the connection is lost', async () => {
    const { connection, events } = await subscriptions();
    const heard: string[] = [];
    await connection.subscribe('{a}one', (message) => heard.push(message));
    await connection.ping();
    await publish('{a}one', 'after');
    await vi.waitFor(() => expect(heard).toEqual(['after']), soon);
    await server.command('ACL', 'SETUSER', 'default', '-ping');
    await connection.ping().finally(() => server.command('ACL', 'SETUSER', 'default', '+ping'));

    proxy.blackhole(true);
    const lost = connection.ping().catch((error) => {
      events.push('lost');
      return error;
    });
    proxy.blackhole(false);
    connection.reconnect();
    expect(await lost).toBeInstanceOf(ConnectionLostError);
    await vi.waitFor(() => expect(events).toEqual(['up', 'down', 'lost', 'up']), 5_000);
    await connection.ping();
    await publish('{a}one', 'again');
    await vi.waitFor(() => expect(heard).toEqual(['after', 'again']), soon);
  });

  test('a subscription made while the connection is down is confirmed later', async () => {
    const { connection, events } = await subscriptions();
    await connection.subscribe('{a}one', ignore);
    proxy.blackhole(true);
    proxy.cut();
    await vi.waitFor(() => expect(events).toEqual(['up', 'down']), soon);
    const heard: string[] = [];
    const subscribed = connection.subscribe('{a}two', (message) => heard.push(message));
    proxy.blackhole(false);
    proxy.cut();
    await subscribed;
    await publish('{a}two', 'late');
    await vi.waitFor(() => expect(heard).toEqual(['late']), soon);
  });

  test('a call made at once waits for the connection', async () => {
    const connection = (await factory()).commands({ up: ignore, down: ignore });
    onTestFinished(() => connection.close());
    const push = (value: string): Promise<unknown> =>
      connection.call('{a}key', 'RPUSH', '{a}list', value);
    await server.command('DEL', '{a}list');
    expect(await Promise.all([push('first'), push('second')])).toEqual([1, 2]);
  });

  test('reconnects to a server that was killed and started again', async () => {
    const { call, events } = await commands();
    const { connection: subscriber, events: heardEvents } = await subscriptions();
    const heard: string[] = [];
    await subscriber.subscribe('{a}one', (message) => heard.push(message));
    await server.kill();
    await vi.waitFor(
      () => expect([...events, ...heardEvents]).toEqual(['up', 'down', 'up', 'down']),
      soon,
    );
    const error = (await call('PING').catch((error) => error)) as Error;
    expect(error).toBeInstanceOf(ConnectionLostError);
    expect(error.cause).toBeInstanceOf(Error);
    await server.restart();
    await vi.waitFor(
      () => expect([...events, ...heardEvents]).toEqual(['up', 'down', 'up', 'up', 'down', 'up']),
      10_000,
    );
    expect(await call('PING')).toBe('PONG');
    expect(await publish('{a}one', 'again')).toBe(1);
    await vi.waitFor(() => expect(heard).toEqual(['again']), soon);
  }, 20_000);

  test('a refused attempt to connect is retried, also the first', async () => {
    const { client, close } = await connect(server.port);
    onTestFinished(close);
    const own = connectionsOf(client);
    await server.kill();
    const events: string[] = [];
    const connection = own.commands({
      up: () => events.push('up'),
      down: () => events.push('down'),
    });
    onTestFinished(() => connection.close());
    const refused = await connection.call('{a}key', 'PING').catch((error) => error);
    expect(refused).toMatchObject({ name: 'ConnectionLostError', cause: expect.any(Error) });
    await server.restart();
    await vi.waitFor(() => expect(events).toEqual(['down', 'up']), 10_000);
    expect(await connection.call('{a}key', 'PING')).toBe('PONG');
  }, 20_000);

  test('a connection closed while it connects stays closed', async () => {
    const own = await factory();
    const warm = own.commands({ up: ignore, down: ignore });
    await warm.call('{a}key', 'PING');
    onTestFinished(() => warm.close());
    const connected = proxy.connections;
    for (const purpose of ['commands', 'subscriptions'] as const) {
      const reached = vi.fn();
      const early = own[purpose]({ up: reached, down: reached });
      await early.close();
      const later = own.commands({ up: ignore, down: ignore });
      await later.call('{a}key', 'PING');
      await later.close();
      await vi.waitFor(() => expect(proxy.connections).toBe(connected), soon);
      if (!cluster) expect(reached).not.toHaveBeenCalled();
    }
  });

  test('close() rejects commands without a reply, and leaves only the client connected', async () => {
    const own = await factory();
    const left: number[] = [];
    // The client of a cluster opens its own connections the first time.
    for (const _ of [1, 2]) {
      const connection = own.commands({ up: ignore, down: ignore });
      const subscriber = own.subscriptions({ up: ignore, down: ignore });
      await connection.call('{a}key', 'PING');
      await subscriber.subscribe('{a}one', ignore);
      const connected = proxy.connections;
      proxy.holdReplies();
      const pending = [
        connection.call('{a}key', 'PING').catch((error) => error),
        subscriber.subscribe('{a}two', ignore).catch((error) => error),
      ];
      await Promise.all([connection.close(), subscriber.close()]);
      proxy.letGo();
      pending.push(connection.call('{a}key', 'PING').catch((error) => error));
      pending.push(subscriber.subscribe('{a}two', ignore).catch((error) => error));
      for (const error of await Promise.all(pending)) {
        expect(error).toBeInstanceOf(ConnectionLostError);
      }
      await vi.waitFor(() => expect(proxy.connections).toBe(connected - 2), soon);
      left.push(proxy.connections);
    }
    expect(left[1]).toBe(left[0]);
  });
});

describe.each([
  {
    name: 'ioredis',
    connect: (options: { path: string }) =>
      ioredis({
        path: options.path,
        port: undefined,
        db: 3,
        password: 'secret',
        connectionName: 'mine',
        keyPrefix: 'my:',
      })(0),
  },
  {
    name: 'node-redis',
    connect: (options: { path: string }) =>
      nodeRedis({
        url: undefined,
        socket: { path: options.path },
        database: 3,
        password: 'secret',
        name: 'mine',
        keyPrefix: 'my:',
      })(0),
  },
])('$name', ({ connect }) => {
  test("the client's settings are kept", async () => {
    const server = await startServer({
      args: ['--requirepass', 'secret', '--unixsocket', 'socket'],
    });
    onTestFinished(() => server.stop());
    const { client, close } = await connect({ path: `${server.folder}/socket` });
    onTestFinished(close);
    const own = connectionsOf(client);
    const connection = own.commands({ up: ignore, down: ignore });
    const subscriber = own.subscriptions({ up: ignore, down: ignore });
    onTestFinished(() => connection.close());
    onTestFinished(() => subscriber.close());
    await subscriber.subscribe('channel', ignore);
    expect(await connection.call('', 'CLIENT', 'INFO')).toMatch(/ name=mine .* db=3 .*/);
    expect(await server.command('CLIENT', 'LIST')).toMatch(/ name=mine .* db=3 sub=1 /);

    // Connections add no prefix, also in scripts.
    expect(own.keyPrefix).toBe('my:');
    await connection.call('', 'SET', 'key', 'value');
    expect(await connection.call('', 'KEYS', '*')).toEqual(['key']);
    expect(await server.command('PUBSUB', 'CHANNELS')).toEqual(['channel']);
  });
});

// Each test has its own servers and mostly waits, so they run concurrently.

test.concurrent.for([
  {
    name: 'ioredis, a cluster',
    connect: async (port: number) => {
      const client = new Cluster([{ host: '127.0.0.1', port }]);
      client.on('error', ignore);
      return { client, close: () => client.disconnect() };
    },
  },
  {
    name: 'node-redis, a cluster',
    connect: async (port: number) => {
      const client = createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${port}` }] });
      client.on('error', ignore);
      await client.connect();
      return { client, close: () => client.destroy() };
    },
  },
])(
  '$name: a slot that moves to another node is a lost connection, and the new node is found',
  { timeout: 30_000 },
  async ({ connect }, { expect, onTestFinished }) => {
    const from = await startServer({ cluster: true });
    onTestFinished(() => from.stop());
    const to = await startServer({
      args: ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'],
    });
    onTestFinished(() => to.stop());
    await to.command('CLUSTER', 'MEET', '127.0.0.1', from.port);
    await vi.waitFor(async () => {
      expect(await to.command('CLUSTER', 'INFO')).toMatch(/cluster_state:ok/);
      expect(await from.command('CLUSTER', 'NODES')).toContain(`:${to.port}@`);
    }, 10_000);
    const { client, close } = await connect(from.port);
    onTestFinished(close);
    const own = connectionsOf(client);
    const events: string[] = [];
    const connection = own.commands({
      up: () => events.push('up'),
      down: () => events.push('down'),
    });
    const subscriber = own.subscriptions({
      up: () => events.push('UP'),
      down: () => events.push('DOWN'),
    });
    onTestFinished(() => connection.close());
    onTestFinished(() => subscriber.close());
    const heard: string[] = [];
    await subscriber.subscribe('{a}channel', (message) => heard.push(message));
    await connection.call('{a}key', 'PING');
    await connection.call('{b}key', 'PING');
    expect(events.sort()).toEqual(['UP', 'up']);

    const slot = Number(await from.command('CLUSTER', 'KEYSLOT', '{a}key'));
    const target = String(await to.command('CLUSTER', 'MYID'));
    for (const server of [to, from])
      await server.command('CLUSTER', 'SETSLOT', slot, 'NODE', target);
    const outcomes = await Promise.all([
      connection.call('{a}key', 'MULTI').catch((error) => error),
      connection.call('{a}key', 'INCR', '{a}key').catch((error) => error),
      connection.call('{a}key', 'EXEC').catch((error) => error),
    ]);
    expect(outcomes[1]).toBeInstanceOf(ConnectionLostError);
    expect(outcomes[2]).toBeInstanceOf(Error);
    await vi.waitFor(() => {
      expect(events.sort()).toEqual(['DOWN', 'UP', 'UP', 'down', 'up', 'up']);
    }, 10_000);
    expect(await connection.call('{a}key', 'INCR', '{a}key')).toBe(1);
    expect(await to.command('GET', '{a}key')).toBe('1');
    expect(await to.command('SPUBLISH', '{a}channel', 'here')).toBe(1);
    await vi.waitFor(() => expect(heard).toEqual(['here']), soon);
  },
);

test.concurrent.for([
  { name: 'ioredis', connect: ioredis() },
  { name: 'node-redis', connect: nodeRedis() },
])(
  '$name: an attempt to connect without a reply is abandoned',
  { timeout: 15_000 },
  async ({ connect }, { expect, onTestFinished }) => {
    const server = await startServer();
    onTestFinished(() => server.stop());
    const proxy = await startProxy(server.port);
    onTestFinished(() => proxy.stop());
    const { client, close } = await connect(proxy.port);
    onTestFinished(close);
    proxy.blackhole(true);
    const events: string[] = [];
    const connection = connectionsOf(client).commands({
      up: () => events.push('up'),
      down: () => events.push('down'),
    });
    onTestFinished(() => connection.close());
    const refused = connection.call('', 'PING').catch((error) => error);
    await vi.waitFor(() => expect(proxy.connections).toBeGreaterThan(1), soon);
    proxy.blackhole(false);
    await vi.waitFor(() => expect(events).toEqual(['down', 'up']), 8_000);
    expect(await refused).toBeInstanceOf(ConnectionLostError);
    expect(await connection.call('', 'PING')).toBe('PONG');
  },
);

describe('a socket that cannot be destroyed', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('is replaced by another, and keeps the reason', async () => {
    const opened: SocketEvents[] = [];
    const adapter: Adapter = {
      keyPrefix: '',
      database: 0,
      async open(_purpose, events) {
        opened.push(events);
        return {
          send: async ([name]) => name,
          destroy() {
            throw new Error('The client is closed');
          },
        } as Partial<Socket> as Socket;
      },
      eval: async () => {},
    };
    const events: unknown[] = [];
    const commands = new Commands(
      adapter,
      { up: () => events.push('up'), down: (reason) => events.push(reason) },
      new Set(),
    );
    const refused = commands.call('', 'PING').catch((error) => error);
    const cause = new Error('connect ECONNREFUSED');
    await vi.advanceTimersByTimeAsync(0);
    opened[0]?.lost(cause);
    expect(await refused).toMatchObject({ name: 'ConnectionLostError', cause });
    await vi.advanceTimersToNextTimerAsync();
    opened[1]?.ready();
    await vi.advanceTimersByTimeAsync(0);
    expect(events).toMatchObject([{ cause }, 'up']);
    expect(await commands.call('', 'PING')).toBe('PING');
    await commands.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});

test('objects that are not clients of these libraries are refused', () => {
  const others: [unknown, string][] = [
    [undefined, 'undefined'],
    ['redis://localhost', '"redis://localhost"'],
    [{}, 'object'],
    [createClient().legacy(), 'object'],
  ];
  for (const [client, got] of others) {
    expect(() => connectionsOf(client)).toThrow(
      new TypeError(
        'client must be a Redis or Cluster of ioredis 5 or later, or what createClient, ' +
          `createClientPool, createSentinel or createCluster of node-redis 5 or later returns, got ${got}`,
      ),
    );
  }
});

test.concurrent('slots are those of the server', async ({ expect, onTestFinished }) => {
  const server = await startServer({ cluster: true });
  onTestFinished(() => server.stop());
  for (const key of [
    '',
    'a',
    '123456789',
    '{a}b',
    'a{b}',
    '{}a{b}',
    'a{{b}}',
    'a{b}{c}',
    '{',
    'é{ö}',
  ]) {
    expect([key, slotOf(key)]).toEqual([key, await server.command('CLUSTER', 'KEYSLOT', key)]);
  }
});
