/**
 * A malformed message is dropped; a malformed reply or record rejects the operation that read it. Neither ends the
 * process, leaves a call unsettled or affects another call.
 */
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect, libraries } from '../../tests/redis/clients.js';
import { handlers, short, soon, useServer, watch } from '../../tests/redis/scene.js';
import { SharedMutex, StoreError } from '../shared/index.js';
import { MalformedError } from '../shared/protocol/malformed.js';
import type { Message, Operation } from '../shared/protocol/protocol.js';
import { decodeMessage, decodeReply, encodeMessage, requestsOf } from '../shared/protocol/wire.js';
import { connectionsOf } from './connection/clients.js';
import type { ConnectionFactory } from './connection/connection.js';
import { storeOver } from './store.js';

const scene = useServer();

/** A text with some characters replaced, removed, repeated or cut off. */
const mutated = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(
      text,
      fc.array(
        fc.tuple(
          fc.nat(),
          fc.nat({ max: 8 }),
          fc.oneof(
            fc.constantFrom('', ' ', '\n', '[', ']', '"', '{', '}', ',', '-', '.', 'e9', '\0', '0'),
            fc.string({ unit: 'binary', maxLength: 4 }),
          ),
        ),
        { minLength: 1, maxLength: 4 },
      ),
    )
    .map(([text, edits]) => {
      let result = text;
      for (const [at, length, put] of edits) {
        const start = at % (result.length + 1);
        result = result.slice(0, start) + put + result.slice(start + length);
      }
      return result;
    });

const name = fc.constantFrom('web', 'web[1]', '[', '{a}', 'a"b\\', 'é😀', 'a.b~c', '%s', '-');
const id = fc
  .tuple(name, fc.nat(), fc.nat(), fc.constantFrom('', '~'))
  .map(([name, epoch, n, suffix]) => `${name}.${epoch}/${n}${suffix}`);
const token = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const keys = fc.array(fc.constantFrom('a', '[', ' 1 [', '"', '\n', 'é😀', '\\', 'number 1'), {
  maxLength: 3,
});
const grant = fc.record({ id, token, contended: fc.boolean(), extra: keys });
const message: fc.Arbitrary<Message> = fc.oneof(
  grant.map((grant): Message => ({ name: 'held', grant })),
  id.map((id): Message => ({ name: 'revoke', id })),
  fc.tuple(id, token).map(([id, token]): Message => ({ name: 'taken', id, token })),
  fc.constant<Message>({ name: 'lost' }),
);

/** Operations, and the server's reply to them. */
const exchange = fc
  .array(
    fc.oneof(
      grant.map(({ id, token, contended, extra }): [Operation, string] => [
        { name: 'lock', id, tokens: 1, wait: true, keys: ['k'], optional: extra },
        `held ${id} ${token} ${contended ? 1 : 0}${extra.length > 0 ? JSON.stringify(extra) : ''}`,
      ]),
      fc.constant<[Operation, string]>([{ name: 'check', id: 'a.0/1', keys: ['k'] }, 'check 1 0']),
      fc.constant<[Operation, string]>([{ name: 'renew' }, 'renewed 300']),
      fc.constant<[Operation, string]>([{ name: 'reserve', tokens: 1 }, 'number 17']),
      fc.constant<[Operation, string]>([
        { name: 'query' },
        `query ${JSON.stringify([
          ['', '1', 'k', 'a.0/1 7'],
          ['a.0/2', '{"order":"8","tokens":1,"keys":["k"]}'],
        ])}`,
      ]),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((parts) => ({
    operations: parts.map(([operation]) => operation),
    reply: [`done 300 1700000000000 ${parts.length}`, ...parts.map(([, line]) => line)].join('\n'),
  }));

describe('decoders', () => {
  test('a message round-trips, for any name of its process', () => {
    fc.assert(
      fc.property(message, (message) => {
        expect(decodeMessage(encodeMessage(message))).toEqual(message);
      }),
    );
  });

  test('a grant in a reply round-trips, for any name of its process', () => {
    fc.assert(
      fc.property(grant, ({ id, token, contended, extra }) => {
        const line = `${id} ${token} ${contended ? 1 : 0}`;
        const json = extra.length > 0 ? JSON.stringify(extra) : '';
        const reply = decodeReply(`done 1 2 1\nbusy\n${line}${json}`, [
          { name: 'lock', id: 'x.0/1', tokens: 1, wait: false, keys: ['k'], optional: [] },
        ]);
        expect(reply).toMatchObject({ grants: [{ id, token, contended, extra }] });
      }),
    );
  });

  test('a text decodes to a message that encodes again, or to undefined', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      mutated(message.map(encodeMessage)),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const message = decodeMessage(text);
        if (message !== undefined) {
          expect(decodeMessage(encodeMessage(message))).toEqual(message);
          if (message.name === 'held') expect(message.grant.token).toBeGreaterThan(0);
        }
      }),
      { numRuns: 5_000 },
    );
    expect(decodeMessage('['.repeat(1_000_000))).toBeUndefined();
  });

  test('a reply has a result for each operation, or is refused', () => {
    const replies = fc.oneof(
      exchange,
      fc.record({
        operations: exchange.map(({ operations }) => operations),
        reply: fc.oneof(fc.anything(), fc.string({ unit: 'binary' })) as fc.Arbitrary<string>,
      }),
      exchange.chain(({ operations, reply }) =>
        fc.record({ operations: fc.constant(operations), reply: mutated(fc.constant(reply)) }),
      ),
    );
    fc.assert(
      fc.property(replies, ({ operations, reply: text }) => {
        try {
          const reply = decodeReply(text, operations);
          if (reply.name !== 'done') return;
          expect(reply.results).toHaveLength(operations.length);
          expect([reply.left, reply.time].every(Number.isFinite)).toBe(true);
          const grants = [
            ...reply.grants,
            ...reply.results.flatMap((result) => (result.name === 'held' ? result.grant : [])),
          ];
          for (const { token } of grants) expect(Number.isSafeInteger(token)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedError);
        }
      }),
      { numRuns: 5_000 },
    );
  });

  test('a reply without its results, with another or with too many is refused', () => {
    const operations: Operation[] = [{ name: 'renew' }, { name: 'reserve', tokens: 1 }];
    const good = 'done 1 2 2\nrenewed\nnumber 5';
    expect(decodeReply(good, operations)).toMatchObject({ name: 'done' });
    for (const bad of [
      'done 1 2 2\nrenewed',
      'done 1 2 1\nrenewed\nnumber 5',
      'done 1 2 2\nnumber 5\nrenewed',
      `${good}\ngarbage`,
      'done x 2 2\nrenewed\nnumber 5',
      'done 1 2 2\nrenewed\nnumber',
      'done',
      '',
      'LOST',
      null,
      7,
      [good],
    ]) {
      expect(() => decodeReply(bad, operations), String(bad)).toThrow(MalformedError);
    }
  });

  test('a record is read completely or refused', () => {
    const record = fc.constant('{"order":"8","tokens":1,"keys":["k"],"condition":"c"}');
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string(), mutated(record)), (text) => {
        try {
          const [request] = requestsOf(['a.0/1', text]).values();
          expect(request?.keys.every((key) => typeof key === 'string')).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedError);
        }
      }),
      { numRuns: 5_000 },
    );
  });
});

const garbage = [
  ...['', 'hello', '{}', 'null', '[]', '5', '"lost"', '["held"]', '["held",null]', '["held",{}]'],
  ...['["revoke"]', '["revoke",1]', '["taken",1,2]', '["taken","a.0/1","9e9"]', '[null]', '\0'],
  ...['["held","__proto__","9",2]', '["held","a.0/1","-1",0]', '["held","a.0/1","9",0,5]'],
  ...['["unknown","a.0/1"]', '['.repeat(100_000)],
];

describe.each(libraries)('%s', (library) => {
  test('malformed messages are dropped and counted', async () => {
    const [holder, other] = [
      await scene.process({ library, mode: 'strict' }),
      await scene.process({ library, mode: 'strict' }),
    ];
    const guard = await holder.lock('k');
    const waiter = watch(other.lock('k'));
    await expect.poll(async () => (await holder.query()).waiting.length, soon).toBe(1);
    // Channels are the same in all databases, so the right to PUBLISH in any of them is enough.
    const stranger = new Redis({ port: scene.server.port, db: 9 });
    onTestFinished(() => stranger.disconnect());
    const channels = (await stranger.call(
      'PUBSUB',
      'CHANNELS',
      `{${scene.namespace}}:*`,
    )) as string[];
    expect(channels.length).toBeGreaterThanOrEqual(3);
    for (const text of garbage) {
      for (const channel of channels) await stranger.publish(channel, text);
    }
    await expect
      .poll(() => holder.metrics.malformedMessages, soon)
      .toBeGreaterThanOrEqual(2 * garbage.length);
    expect(guard.valid).toBe(true);
    expect(waiter.state).toBe('pending');
    await guard.release();
    await (await waiter.promise).release();
    expect(other.metrics.malformedMessages).toBeGreaterThanOrEqual(garbage.length);
  });

  test('a grant of keys that were not requested is dropped', async () => {
    const [holder, other] = [await scene.process({ library }), await scene.process({ library })];
    const guard = await holder.lock('k');
    const waiter = watch(other.lock('k'));
    await expect.poll(async () => (await holder.query()).waiting.length, soon).toBe(1);
    const [{ id, session } = { id: '', session: '' }] = (await holder.query()).waiting;
    const channel = `{${scene.namespace}}:${session.slice(0, session.lastIndexOf('.'))}`;
    const forged = ['held', id, '9', 0, 'x'];
    await scene.server.command('PUBLISH', channel, JSON.stringify(forged));
    await expect.poll(() => other.metrics.malformedMessages, soon).toBe(1);
    expect(waiter.state).toBe('pending');
    await guard.release();
    await (await waiter.promise).release();
  });
});

const names = ['web[1]', '[', '[]', 'a~b', 'a.b', '%s%d', `q'"\\`, 'nul\0x', 'é😀', 'a:b{c}', '-'];

describe.each(handlers)('%s', (handler) => {
  test.each(names)('a process may be named %j', async (name) => {
    const [mutex, other] = [
      await scene.process({ handler, name }),
      await scene.process({ handler, name }),
    ];
    const guard = await mutex.lock(['k', 'l']);
    const waiters = [mutex.lock(['k', 'm']), other.lock(['l', 'm']), other.lock('k')];
    const served = Promise.all(
      waiters.map(async (waiter) => {
        await (await waiter).release();
      }),
    );
    await expect.poll(async () => (await other.query()).waiting.length, soon).toBeGreaterThan(1);
    await guard.release();
    await served;
  });

  test('malformed records are refused in time, and other namespaces are not affected', async () => {
    const base = `{${scene.namespace}}`;
    const store = await scene.store({ handler, ttl: short });
    const other = new SharedMutex(store.withNamespace(`${scene.namespace}-other`));
    const texts = ['', '{}', 'a.0/1 x', '9'.repeat(400)];
    for (const [i, text] of texts.entries()) {
      const writes = [
        ['HSET', `${base}:state`, 'lock:k', text],
        ['HSET', `${base}:state`, 'request:p.0/1', text],
        ['ZADD', `${base}:index`, '0', `k1:k:${text}`],
        ['HSET', `${base}:state`, 'session:p.0', text],
        ['HSET', `${base}:state`, '', text],
      ];
      const [mutex, user] = [
        await scene.process({ handler, ttl: short }),
        await scene.process({ handler, ttl: short }),
      ];
      for (const [n, write] of writes.entries()) {
        await scene.server.command('DEL', `${base}:state`, `${base}:index`);
        const held = await user.lock('other', { timeout: 5_000 });
        await scene.server.command(...(write as [string, ...string[]]));
        const error = await mutex.lock('k', { timeout: 2 * short }).then(
          (guard) => guard.release(),
          (error) => error,
        );
        if (error !== undefined)
          expect(['StoreError', 'TimeoutError'], `${i} ${n}`).toContain(error.name);
        await held.release();
        await other.run('k', () => {}, { timeout: 5_000 });
      }
      await Promise.all([mutex.close(), user.close()]);
    }
  }, 60_000);
});

test('a malformed reply is refused, and later requests are served', async () => {
  const client = await connect('ioredis', scene.server.port);
  const real = connectionsOf(client);
  let mutate = (reply: unknown): unknown => reply;
  const factory: ConnectionFactory = {
    ...real,
    commands: (events) => {
      const connection = real.commands(events);
      return {
        call: async (key, ...command) => {
          const reply = await connection.call(key, ...command);
          return command[0] === 'EVALSHA' ? mutate(reply) : reply;
        },
        reconnect: () => connection.reconnect(),
        close: () => connection.close(),
      };
    },
  };
  const mutex = new SharedMutex(storeOver(factory, { namespace: scene.namespace, ttl: short }));
  onTestFinished(() => mutex.close());
  const replies = [
    null,
    7,
    [],
    '',
    'x',
    'done',
    'done 1 2 1',
    'done 9 9 1\nbusy\nx',
    'done -1 2 1\nbusy',
  ];
  for (const reply of [...replies, ...fc.sample(fc.string({ unit: 'binary' }), 20)]) {
    mutate = () => reply;
    const refused = mutex.lock('k', { timeout: 5_000 });
    await expect(refused, JSON.stringify(reply)).rejects.toThrow(StoreError);
    mutate = (reply) => reply;
    await mutex.run('k', () => {}, { timeout: 5_000 });
  }
});
