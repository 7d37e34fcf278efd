/**
 * The cost of a batch on the server does not depend on the rest of the namespace. The tests count the commands that the
 * script runs, with sessions of many processes on one connection.
 */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { useServer } from '../../tests/redis/scene.js';
import type { Operation, Share } from '../shared/protocol/protocol.js';
import { connectionsOf } from './connection/clients.js';
import type { CommandConnection } from './connection/connection.js';
import { baseOf } from './handlers/handler.js';
import { ScriptHandler } from './handlers/script.js';

const scene = useServer();
let client: Redis;
let commands: CommandConnection;
let script: ScriptHandler;
let run: string;

beforeAll(async () => {
  client = new Redis(scene.server.port);
  commands = connectionsOf(client).commands({ up: () => {}, down: () => {} });
  run = /^run_id:(\w{8})/m.exec(await client.info('server'))?.[1] as string;
});

afterAll(async () => {
  await commands?.close();
  client?.disconnect();
});

beforeEach(async () => {
  const where = { channels: 'plain', database: 0 } as const;
  script = new ScriptHandler(commands, baseOf('', scene.namespace), where);
  await script.prepare();
  // A lease that is shorter than the server's uptime: nothing is granted before the uptime exceeds a lease.
  await send('first', 900, { name: 'reserve', tokens: 1 });
});

const exchange = (process: string, ...operations: Operation[]) =>
  send(process, 60_000, ...operations);

const send = (process: string, ttl: number, ...operations: Operation[]) =>
  script.exchange({
    session: `${process}.0`,
    ttl,
    incarnation: 1,
    join: 'new',
    run,
    secret: 'secret',
    operations,
  });

const lock = (process: string, ...keys: string[]): Operation => {
  const id = `${process}.0/${keys.join('+')}`;
  return { name: 'lock', id, tokens: 1, wait: true, keys, optional: [] };
};

const unlock = (process: string, ...keys: string[]): Operation => {
  const id = `${process}.0/${keys.join('+')}`;
  return { name: 'unlock', id, keys };
};

/** The number of times that the script ran each command, for one batch. */
async function workOf(process: string, ...operations: Operation[]) {
  const before = await scene.calls();
  const reply = await exchange(process, ...operations);
  expect(reply.name).toBe('done');
  const after = await scene.calls();
  // Two renewals in one millisecond set the life of the keys once.
  const counted = Object.entries(after).filter(([name]) => name !== 'pexpire');
  const work = counted.map(([name, calls]) => [name, calls - (before[name] ?? 0)] as const);
  return Object.fromEntries(work.filter(([, calls]) => calls > 0));
}

const sum = (work: Record<string, number>): number =>
  Object.values(work).reduce((total, calls) => total + calls, 0);

/** Commands that read a whole collection. */
const whole = ['hgetall', 'hkeys', 'hvals', 'zrange', 'scan', 'hscan', 'zscan'];

function expectPartial(work: Record<string, number>): void {
  expect(whole.filter((name) => name in work)).toEqual([]);
}

test('a heartbeat costs the same among 5 and among 200 processes', async () => {
  const join = async (from: number, to: number): Promise<void> => {
    for (let i = from; i < to; i++) await exchange(`p${i}`, lock(`p${i}`, `key-${i}`));
  };
  await join(0, 5);
  const few = await workOf('p0', { name: 'renew' });
  await join(5, 200);
  const many = await workOf('p0', { name: 'renew' });
  expectPartial(many);
  expect(many).toEqual(few);
});

test('a session ends at the same cost with 10 and with 1,000 locks of other sessions', async () => {
  const fill = async (from: number, to: number): Promise<void> => {
    for (let i = from; i < to; i++) await exchange('other', lock('other', `key-${i}`));
  };
  const end = async () => {
    await exchange('own', lock('own', 'a', 'b'), lock('own', 'c'), lock('own', 'key-1'));
    return workOf('other', { name: 'leave', session: 'own.0' });
  };
  await fill(0, 10);
  const few = await end();
  await fill(10, 1_000);
  const many = await end();
  expectPartial(many);
  expect(many).toEqual(few);
});

test('a request that waits for another key adds two reads to a lock and one to its release', async () => {
  const work = async () => {
    await exchange('own', lock('own', 'first'), unlock('own', 'first'));
    const locked = await workOf('own', lock('own', 'k'));
    const released = await workOf('own', unlock('own', 'k'));
    return { locked, released };
  };
  const alone = await work();
  await exchange('holder', lock('holder', 'busy'));
  for (let i = 0; i < 100; i++) await exchange(`waiter${i}`, lock(`waiter${i}`, 'busy'));
  const beside = await work();
  expectPartial(beside.locked);
  expect(sum(beside.locked)).toBe(sum(alone.locked) + 2);
  expect(sum(beside.released)).toBe(sum(alone.released) + 1);
});

test('a shared lock and its release run as many commands as those of a lock alone', async () => {
  const work = async (share?: Share) => {
    const request = { ...lock('own', 'k'), ...(share && { share }) } as Operation;
    const locked = await workOf('own', request);
    return { locked, released: await workOf('own', unlock('own', 'k')) };
  };
  await exchange('own', lock('own', 'first'), unlock('own', 'first'));
  const alone = await work();
  expect(await work({ weight: 1, limit: 3 })).toEqual(alone);
  const other = { ...lock('other', 'k'), share: { weight: 2, limit: 3 } } as Operation;
  await exchange('other', other);
  const { locked, released } = await work({ weight: 1, limit: 3 });
  expect(locked).toEqual(alone.locked);
  expect(sum(released)).toBe(sum(alone.released));
});
