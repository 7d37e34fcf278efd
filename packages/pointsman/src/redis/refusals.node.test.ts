/**
 * Servers that refuse: the request rejects with a StoreError whose cause says why, nothing is held, and requests
 * succeed again when the server accepts.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { nextMacrotask } from '@pointsman/spec';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  handlers,
  modes,
  mutexOn,
  soon,
  untilHeld,
  untilWaiting,
  useServer,
  watch,
  ways,
} from '../../tests/redis/scene.js';
import { startServer } from '../../tests/servers/server.js';
import { StoreError } from '../shared/index.js';

const scene = useServer();

async function expectRefusal(promise: Promise<unknown>, cause: RegExp) {
  const error = await promise.then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(StoreError);
  expect(error.message).toMatch(cause);
  expect(error.cause).toBeInstanceOf(Error);
  expect((error.cause as Error).message).toMatch(cause);
}

/** The time within which a failed release is repeated. */
const patient = { interval: 20, timeout: 4_000 };

/** Makes the server refuse writes: the expected error, and how to undo it. */
interface Refusal {
  readonly name: string;
  readonly says: RegExp;
  readonly refuse: string[];
  readonly undo: string[];
}

const refusals: Refusal[] = [
  {
    name: 'is a replica',
    says: /READONLY/,
    refuse: ['REPLICAOF', '127.0.0.1', '1'],
    undo: ['REPLICAOF', 'NO', 'ONE'],
  },
  {
    name: 'has no memory left',
    says: /OOM/,
    refuse: ['CONFIG', 'SET', 'maxmemory', '1', 'maxmemory-policy', 'noeviction'],
    undo: ['CONFIG', 'SET', 'maxmemory', '0'],
  },
  {
    name: 'has too few replicas',
    says: /NOREPLICAS/,
    refuse: ['CONFIG', 'SET', 'min-replicas-to-write', '1'],
    undo: ['CONFIG', 'SET', 'min-replicas-to-write', '0'],
  },
];

describe.each(refusals)('the server $name', ({ says, refuse, undo }) => {
  const spoil = async () => {
    const [command, ...parameters] = refuse as [string, ...string[]];
    await scene.server.command(command, ...parameters);
    onTestFinished(repair);
  };
  const repair = async () => {
    const [command, ...parameters] = undo as [string, ...string[]];
    await scene.server.command(command, ...parameters);
  };

  test.each(ways)('before the first lock: $handler, $mode', async (way) => {
    const mutex = await scene.process({ ...way, ttl: 300 });
    await spoil();
    await expectRefusal(mutex.lock('k'), says);
    await expectRefusal(mutex.tryLock('k'), says);
    await expectRefusal(mutex.query(), says);
    await expectRefusal(mutex.condition('c').notify(), says);
    await repair();
    expect(await mutex.run('k', ({ valid }) => valid)).toBe(true);
    await untilHeld(mutex);
  });

  test.each(ways)(
    'while one process holds the lock and another requests it: $handler, $mode',
    async (way) => {
      const [a, b] = [await scene.process(way), await scene.process(way)];
      const guard = await a.lock('k');
      await b.query();
      await spoil();
      await expectRefusal(b.lock(['k', 'l']), says);
      await expectRefusal(b.lock('free'), says);
      await expect(b.run('free', () => expect.unreachable())).rejects.toThrow(StoreError);
      void guard.release();
      await repair();
      await expect
        .poll(() => b.tryLock(['k', 'l', 'free']), patient)
        .toMatchObject({ keys: ['free', 'k', 'l'] });
    },
  );
});

describe.each(ways)('$handler, $mode: something else is stored where', (way) => {
  test.each(['state', 'index'])('the %s should be', async (name) => {
    const key = `{${scene.namespace}}:${name}`;
    const [a, b] = [
      await scene.process({ ...way, ttl: 300 }),
      await scene.process({ ...way, ttl: 300 }),
    ];
    const guard = await a.lock('k');
    await b.query();
    await scene.server.command('SET', key, 'something else');
    await expectRefusal(b.lock('k'), /WRONGTYPE/);
    await scene.server.command('DEL', key);
    void guard.release();
    await b.run(['k', 'l'], ({ valid }) => expect(valid).toBe(true), { timeout: 4_000 });
    await expect.poll(async () => (await b.query()).held, patient).toEqual([]);
  });
});

describe('a user without the rights', () => {
  const user = async (name: string, ...rules: string[]) => {
    const all = ['on', '>secret', 'allkeys', 'allchannels', '+@all'];
    await scene.server.command('ACL', 'SETUSER', name, 'reset', ...all, ...rules);
    return { username: name, password: 'secret' };
  };

  test('to run scripts is refused by the handler script, and served by pure', async () => {
    const given = await user('no-scripts', '-@scripting');
    const mutex = await scene.process({ user: given });
    await expectRefusal(mutex.lock('k'), /NOPERM/);
    const pure = await scene.process({ user: given, handler: 'pure' });
    expect(await pure.run('k', () => 'done')).toBe('done');
    await user('no-scripts');
    expect(await mutex.run('k', () => 'done')).toBe('done');
  });

  test.each(handlers)('to use the channels is refused, %s', async (handler) => {
    const given = await user('no-channels', 'resetchannels');
    const mutex = await scene.process({ user: given, handler });
    await expectRefusal(mutex.lock('k'), /NOPERM|NOPERM.*channel/);
    await user('no-channels');
    await expect
      .poll(() => mutex.run('k', () => 'done').catch(() => 'refused'), patient)
      .toBe('done');
    await untilHeld(mutex);
  });

  test.each(handlers)('to write is refused, %s', async (handler) => {
    const given = await user('no-writing', '-@write');
    const mutex = await scene.process({ user: given, handler });
    await expectRefusal(mutex.lock('k'), /NOPERM|ACL failure|can't run this command/);
    await user('no-writing');
    expect(await mutex.run('k', () => 'done')).toBe('done');
  });

  test.each(handlers)('to publish leaves no request waiting forever, %s', async (handler) => {
    const given = await user('no-publish', '-publish');
    const [mute, other] = [
      await scene.process({ user: given, handler, mode: 'strict', ttl: 300 }),
      await scene.process({ handler, mode: 'strict', ttl: 300 }),
    ];
    await other.query();
    const guard = await mute.lock('k');
    const waiter = watch(other.lock('k'));
    await untilWaiting(other, 1);
    void guard.release();
    // The batch that would notify the waiter is refused before the reply to this one.
    await mute.query().catch(() => {});
    await user('no-publish');
    expect((await waiter.promise).valid).toBe(true);
  });
});

describe('a server that', () => {
  /** A server that replies by the name of the command. */
  async function fake(answer: (name: string) => string): Promise<number> {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (bytes) => {
        const words = String(bytes).split('\r\n');
        for (let i = 0; i < words.length; i++) {
          if (!words[i]?.startsWith('*')) continue;
          socket.write(answer((words[i + 2] ?? '').toUpperCase()));
        }
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.close();
    });
    return (server.address() as AddressInfo).port;
  }
  const bulk = (text: string) => `$${text.length}\r\n${text}\r\n`;

  test('is too old is refused, with its version and the required one', async () => {
    const port = await fake((name) =>
      name === 'INFO' ? bulk('# Server\r\nredis_version:5.0.7\r\nloading:0\r\n') : '+OK\r\n',
    );
    const mutex = await scene.process({ port });
    const error = await mutex.lock('k').catch((reason) => reason);
    expect(error).toBeInstanceOf(StoreError);
    expect(error.message).toMatch(/Redis 6\.2 or later.*got 5\.0\.7/);
  });

  test('cannot be reached makes requests reject after a time', async () => {
    const server = await startServer();
    onTestFinished(() => server.stop());
    const client = new Redis({ port: server.port, lazyConnect: true });
    onTestFinished(() => client.disconnect());
    await server.kill();
    const mutex = mutexOn(client, { ttl: 300 });
    onTestFinished(() => mutex.close());
    const [first, second] = [watch(mutex.lock('k')), watch(mutex.tryLock('l'))];
    await expectRefusal(first.promise, /ECONNREFUSED/);
    await expectRefusal(second.promise, /ECONNREFUSED/);
    await server.restart();
    await expect
      .poll(() => mutex.run(['k', 'l'], () => 'done').catch(() => 'refused'), patient)
      .toBe('done');
    await expect.poll(async () => (await mutex.query()).held, soon).toEqual([]);
  });

  test.each(modes)('cannot be reached refuses all requests for a key at once, %s', async (mode) => {
    const client = new Redis({ port: 1, lazyConnect: true });
    client.on('error', () => {});
    onTestFinished(() => client.disconnect());
    const mutex = mutexOn(client, { ttl: 300, mode });
    onTestFinished(() => mutex.close());
    const first = mutex.lock('k');
    const [second, third] = [watch(mutex.lock('k')), watch(mutex.lock('k'))];
    await expectRefusal(first, /ECONNREFUSED/);
    await nextMacrotask();
    expect([second.state, third.state]).toEqual(['rejected', 'rejected']);
    expect(mutex.waiting).toBe(0);
  });

  test('requires another password makes requests reject with its error', async () => {
    const server = await startServer({ args: ['--requirepass', 'secret'] });
    onTestFinished(() => server.stop());
    const client = new Redis({ port: server.port, password: 'wrong', lazyConnect: true });
    client.on('error', () => {});
    onTestFinished(() => client.disconnect());
    const mutex = mutexOn(client, { ttl: 300 });
    onTestFinished(() => mutex.close());
    await expectRefusal(mutex.lock('k'), /WRONGPASS/);
  });
});
