/** Each process with optimistic transactions is served, however slow it is. */
import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { soon, useServer } from '../../../tests/redis/scene.js';
import type { Batch } from '../../shared/protocol/protocol.js';
import { ConnectionLostError } from '../../shared/store.js';
import { connectionsOf } from '../connection/clients.js';
import type { CommandConnection } from '../connection/connection.js';
import { baseOf, turnsOf } from './handler.js';
import { PureHandler } from './pure.js';
import { TRIES } from './writer-queue.js';

const scene = useServer();

/** A process whose commands can each be delayed before they are sent. */
function process(before: (command: readonly string[]) => unknown = () => {}) {
  const client = new Redis(scene.server.port);
  onTestFinished(() => client.disconnect());
  const factory = connectionsOf(client);
  const real = factory.commands({ up: () => {}, down: () => {} });
  onTestFinished(() => real.close());
  // A delayed command also delays the commands behind it.
  let last: Promise<unknown> = Promise.resolve();
  const call: CommandConnection['call'] = (key, ...command) => {
    const ready = last.then(() => before(command));
    last = ready.catch(() => {});
    return ready.then(() => real.call(key, ...command));
  };
  const connection: CommandConnection = {
    call,
    reconnect: () => real.reconnect(),
    close: () => real.close(),
  };
  return new PureHandler(connection, baseOf('', scene.namespace), factory);
}

const ttl = 3_600_000;
const batch = (session: string, n: number): Batch => ({
  session,
  ttl,
  incarnation: 1,
  join: 'new',
  secret: 'secret',
  operations: [
    { name: 'lock', id: `${session}/${n}`, tokens: 1, wait: false, keys: ['k'], optional: [] },
  ],
});
const waiting = () => scene.server.command('LLEN', turnsOf(baseOf('', scene.namespace)));

test('a process whose every transaction fails is served after a few attempts', async () => {
  const fast = process();
  let attempts = 0;
  let n = 0;
  const others: Promise<unknown>[] = [];
  // Between the read and the write of the slow process, another process completes a batch, if it can.
  const slow = process(async ([name]) => {
    if (name !== 'MULTI') return;
    attempts++;
    if (attempts > 50) throw new Error('it is never served');
    let over = false;
    const other = fast.exchange(batch('fast.0', ++n)).then(() => {
      over = true;
    });
    others.push(other);
    await expect.poll(async () => over || (await waiting()) === 2, soon).toBe(true);
  });
  expect(await slow.exchange(batch('slow.0', 1))).toMatchObject({ name: 'done' });
  expect(attempts).toBe(TRIES + 1);
  await Promise.all(others);
  expect(await waiting()).toBe(0);
});

test('processes are served in the order in which they failed', async () => {
  const order: string[] = [];
  let failures = 0;
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const fast = process();
  const first = process(async ([name]) => {
    if (name !== 'MULTI') return;
    if (++failures <= TRIES) await fast.exchange(batch('fast.0', failures));
    else await held;
  });
  const served = [first.exchange(batch('a.0', 1)).then(() => order.push('a'))];
  await expect.poll(waiting, soon).toBe(1);
  for (const [i, name] of ['b', 'c', 'd'].entries()) {
    served.push(
      process()
        .exchange(batch(`${name}.0`, 1))
        .then(() => order.push(name)),
    );
    await expect.poll(waiting, soon).toBe(i + 2);
  }
  expect(order).toEqual([]);
  release();
  await Promise.all(served);
  expect(order).toEqual(['a', 'b', 'c', 'd']);
  expect(await waiting()).toBe(0);
});

test('a first process that has died delays the others for part of a lease', async () => {
  await scene.server.command('RPUSH', turnsOf(baseOf('', scene.namespace)), 'the dead');
  const handler = process();
  expect(await handler.exchange({ ...batch('a.0', 1), ttl: 200 })).toMatchObject({ name: 'done' });
  expect(await waiting()).toBe(0);
});

test('a process whose batch is refused leaves the queue', async () => {
  const fast = process();
  let attempts = 0;
  const slow = process(async ([name]) => {
    if (name !== 'MULTI') return;
    if (++attempts <= TRIES) await fast.exchange(batch('fast.0', attempts));
    else await scene.server.command('CONFIG', 'SET', 'maxmemory', '1');
  });
  try {
    await expect(slow.exchange(batch('slow.0', 1))).rejects.toThrow(/OOM/);
  } finally {
    await scene.server.command('CONFIG', 'SET', 'maxmemory', '0');
  }
  expect(await waiting()).toBe(0);
  expect(await fast.exchange(batch('fast.0', 9))).toMatchObject({ name: 'done' });
});

test('batches that wait during a loss of the connection are not applied; they are sent again', async () => {
  let reached = (): void => {};
  const working = new Promise<void>((resolve) => {
    reached = resolve;
  });
  let proceed = (): void => {};
  const held = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  let transactions = 0;
  const handler = process(([name]) => {
    if (name !== 'MULTI') return;
    transactions++;
    reached();
    return held;
  });
  const first = handler.exchange(batch('a.0', 1));
  await working;
  const old = [2, 3, 4].map((n) => handler.exchange(batch('a.0', n)));
  const again = handler.exchange({ ...batch('a.0', 5), incarnation: 2 });
  const ended = Promise.allSettled(old);
  proceed();
  expect(await first).toMatchObject({ name: 'done' });
  expect(await again).toMatchObject({ name: 'done' });
  for (const result of await ended) {
    expect(result).toMatchObject({ reason: { name: 'ConnectionLostError' } });
  }
  expect(transactions).toBe(2);
});

test('a first process that loses its connection delays the others until its next batch at most', async () => {
  const fast = process();
  let attempts = 0;
  let lost = false;
  const slow = process(async ([name]) => {
    if (name === 'MULTI' && ++attempts <= TRIES) await fast.exchange(batch('fast.0', attempts));
    lost ||= name === 'MULTI' && attempts === TRIES + 1;
    if (lost) throw new ConnectionLostError('lost');
  });
  await expect(slow.exchange(batch('slow.0', 1))).rejects.toThrow('lost');
  expect(await waiting()).toBe(1);
  lost = false;
  expect(await slow.exchange(batch('slow.0', 2))).toMatchObject({ name: 'done' });
  expect(await waiting()).toBe(0);
  expect(await fast.exchange(batch('fast.0', 9))).toMatchObject({ name: 'done' });
});

test('a process that keeps losing its connection removes a dead first process', async () => {
  await scene.server.command('RPUSH', turnsOf(baseOf('', scene.namespace)), 'the dead');
  let looks = 0;
  const handler = process(([name]) => {
    if (name === 'LRANGE' && ++looks % 4 === 0) throw new ConnectionLostError('lost');
  });
  let incarnation = 0;
  const attempt = () =>
    handler
      .exchange({ ...batch('a.0', 1), ttl: 400, incarnation: ++incarnation })
      .catch((error) => expect(error).toBeInstanceOf(ConnectionLostError));
  await expect.poll(attempt, soon).toMatchObject({ name: 'done' });
  expect(await waiting()).toBe(0);
});

test('a process with slow attempts removes a dead first process after half a lease', async () => {
  const now = performance.now.bind(performance);
  let ahead = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
  onTestFinished(() => clock.mockRestore());
  const fast = process();
  let attempts = 0;
  let looks = 0;
  const slow = process(async ([name]) => {
    if (name === 'LRANGE') {
      ahead += ttl / 10;
      if (++looks > 20) throw new Error('it waits for more than two leases');
    }
    if (name !== 'MULTI' || ++attempts > TRIES) return;
    ahead += ttl;
    await fast.exchange(batch('fast.0', attempts));
    if (attempts < TRIES) return;
    await scene.server.command('RPUSH', turnsOf(baseOf('', scene.namespace)), 'the dead');
  });
  expect(await slow.exchange(batch('slow.0', 1))).toMatchObject({ name: 'done' });
  expect(await waiting()).toBe(0);
});
