/**
 * Lost locks: the signals of their holders abort in time, waiters are served in the end, and no lock is granted that is
 * not held.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  modes,
  short,
  soon,
  untilHeld,
  untilWaiting,
  useServer,
  watch,
  ways,
} from '../../tests/redis/scene.js';
import { LockLostError, type SharedGuard } from './index.js';

const scene = useServer();

/** Resolves when the guard is lost. */
async function untilLost({ signal }: SharedGuard): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

function expectLost(guard: SharedGuard) {
  expect(guard.signal.aborted).toBe(true);
  expect(guard.signal.reason).toBeInstanceOf(LockLostError);
  expect(guard).toMatchObject({ valid: false, released: false });
  expect(() => guard.assertValid()).toThrow(guard.signal.reason);
}

const forget = (key: 'state' | 'index') => async () => {
  await scene.server.command('DEL', `{${scene.namespace}}:${key}`);
};
const forgetSessions = async () => {
  const state = `{${scene.namespace}}:state`;
  const fields = (await scene.server.command('HKEYS', state)) as string[];
  const sessions = fields.filter((field) => field.startsWith('session:'));
  expect(sessions).not.toEqual([]);
  await scene.server.command('HDEL', state, ...sessions);
};
const forgetEverything = async () => {
  await scene.server.command('FLUSHALL');
};
const stall = (milliseconds: number) => {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
};

describe.each(ways)('$handler, $mode', (way) => {
  const brief = { ...way, ttl: short };
  /** Of a process that loses nothing, however busy the machine. Another one begins the namespace. */
  const steady = { ...way, ttl: 60_000 };

  test('a request that waits with the signal of a lost guard is over', async () => {
    const [a, b] = [await scene.process(way), await scene.process(brief)];
    const other = await a.lock('l');
    const guard = await b.lock('k');
    const waiter = watch(b.lock('l', { signal: guard.signal }));
    await untilWaiting(a, 1);
    stall(short + 50);
    expectLost(guard);
    await expect(waiter.promise).rejects.toBe(guard.signal.reason);
    await other.release();
    await delay(100);
    expect(await a.query()).toEqual({ held: [], waiting: [] });
  });

  test.each([
    ['its session', forgetSessions],
    ['everything', forgetEverything],
  ])(
    'the server loses %s: the signal of the holder aborts, and the waiters are served',
    async (_, forget) => {
      const [a, b] = [await scene.process(brief), await scene.process(brief)];
      const guard = await a.lock(['k', 'l']);
      const waiters = [watch(a.lock('k')), watch(b.lock('k')), watch(b.lock('l'))];
      await expect.poll(async () => (await a.query()).waiting.length, soon).toBeGreaterThan(0);
      await forget();
      await untilLost(guard);
      expectLost(guard);
      expect(a.metrics.losses).toBe(1);
      const served = waiters.map(async ({ promise }) => {
        const next = await promise;
        expect(next.valid).toBe(true);
        expect(next.token).toBeGreaterThan(guard.token);
        await next.release();
      });
      await Promise.all(served);
      await guard.release();
      await untilHeld(a);
    },
  );

  test.each([
    ['its session', forgetSessions],
    ['the state', forget('state')],
    ['everything', forgetEverything],
  ])('the server has forgotten %s: the lock passes on when its holder knows', async (_, forget) => {
    const [a, b] = [await scene.process(brief), await scene.process(brief)];
    const guard = await a.lock('k');
    await b.query();
    await forget();
    const next = await b.lock('k');
    expectLost(guard);
    expect(next.valid).toBe(true);
  });

  test('the index is lost: locks and places in the queue remain', async () => {
    const strict = { ...way, mode: 'strict' } as const;
    const processes = [await scene.process(strict), await scene.process(strict)] as const;
    const [a, b] = processes;
    const guard = await a.lock(['k', 'l']);
    const order: string[] = [];
    const waits = [];
    for (const [i, mutex] of [b, a, b].entries()) {
      waits.push(mutex.run('k', () => order.push(`${i}`)));
      await untilWaiting(a, i + 1);
    }
    await forget('index')();
    await guard.extend();
    expect(await b.tryLock('l')).toBeUndefined();
    await guard.release();
    await Promise.all(waits);
    expect(order).toEqual(['0', '1', '2']);
    expect(guard.signal.aborted).toBe(false);
    for (const mutex of processes) await mutex.close();
    await expect.poll(() => scene.keys(), soon).toEqual([]);
  });

  test('one of two keys is deleted: the signal of the holder aborts, and the other key is free', async () => {
    const [a, b] = [await scene.process(way), await scene.process(way)];
    const guard = await a.lock(['k', 'l']);
    await scene.server.command('HDEL', `{${scene.namespace}}:state`, 'lock:k');
    await untilLost(guard);
    expectLost(guard);
    // The process and its session continue.
    const other = await a.lock('m');
    await b.run('l', () => {});
    expect(other.valid).toBe(true);
    await other.release();
    await untilHeld(a);
  });

  test('a key is deleted while a request waits for it: the request is served', async () => {
    const [a, b] = [await scene.process(way), await scene.process(way)];
    const guard = await a.lock('k');
    const waiter = b.lock('k');
    await untilWaiting(b, 1);
    await scene.server.command('HDEL', `{${scene.namespace}}:state`, 'lock:k');
    await untilLost(guard);
    await (await waiter).release();
    await untilHeld(b);
  });

  test('the session with the longest lease is deleted: its lock is lost before another process gets the key', async () => {
    const other = await scene.process(brief);
    // The server is younger than the long lease, so a namespace that begins with that lease is guarded for as long.
    await other.query();
    const long = await scene.process({ ...way, ttl: 3_600_000 });
    const guard = await long.lock('k');
    await forgetSessions();
    const next = await other.lock('k');
    expectLost(guard);
    expect(next.valid).toBe(true);
    expect(next.token).toBeGreaterThan(guard.token);
  });

  test('a try ends the locks and requests of dead processes', async () => {
    const [holder, waiter] = [await scene.disturbed(brief), await scene.disturbed(brief)];
    const other = await scene.process(brief);
    await holder.mutex.lock('k');
    waiter.mutex.lock(['k', 'l']).catch(() => {});
    await untilWaiting(other, 1);
    holder.proxy.blackhole(true);
    waiter.proxy.blackhole(true);
    // Between two tries no session has a heartbeat.
    const seldom = { ...soon, interval: short / 2 };
    for (const key of ['l', 'k']) {
      await expect.poll(async () => (await other.tryLock(key))?.valid, seldom).toBe(true);
    }
    await other.lock('m', { timeout: 0 });
  });

  test('short-lived processes end the locks of dead processes', async () => {
    const holder = await scene.disturbed(brief);
    await holder.mutex.lock('k');
    holder.proxy.blackhole(true);
    // None of them lives for a whole lease.
    const visit = async (): Promise<boolean | undefined> => {
      const mutex = await scene.process(brief);
      const guard = await mutex.lock('l');
      await guard.extend();
      await guard.release();
      const found = await mutex.tryLock('k');
      await mutex.close();
      return found !== undefined;
    };
    await expect.poll(visit, { ...soon, interval: short / 2 }).toBe(true);
  });

  test('a loss that cannot be announced: the lock is in doubt before another process gets it', async () => {
    const [{ proxy, mutex }, other] = [await scene.disturbed(brief), await scene.process(brief)];
    const guard = await mutex.lock('k');
    const waiter = watch(mutex.lock('k'));
    await other.run('l', () => {});
    // The connection for messages is lost, and cannot be established again.
    proxy.pointAt(1);
    await scene.server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await expect.poll(() => guard.valid, soon).toBe(false);
    expect(() => guard.assertValid()).toThrow('in doubt');
    await forgetEverything();
    const next = await other.lock('k');
    expect([next.valid, guard.valid]).toEqual([true, false]);
    await untilLost(guard);
    expectLost(guard);
    expect(waiter.state).toBe('pending');
    proxy.pointAt(scene.server.port);
    await next.release();
    await (await waiter.promise).release();
  });

  test('no announcement can arrive for a whole lease: the lock is lost', async () => {
    const { proxy, mutex } = await scene.disturbed(brief);
    const guard = await mutex.lock('k');
    proxy.pointAt(1);
    await scene.server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await untilLost(guard);
    expectLost(guard);
    proxy.pointAt(scene.server.port);
    await mutex.run('k', (next) => next.assertValid());
  });

  test('extending a lock that is released while it is in doubt rejects', async () => {
    const { proxy, mutex } = await scene.disturbed({ ...way, ttl: 10_000 });
    const guard = await mutex.lock('k');
    proxy.pointAt(1);
    await scene.server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await expect.poll(() => guard.valid, soon).toBe(false);
    const extended = watch(guard.extend());
    // The reply to the renewal has arrived before this one.
    await mutex.query();
    expect(extended.state).toBe('pending');
    await guard.release();
    await expect(extended.promise).rejects.toThrow('it has been released');
  });

  test('both connections are half-open: the lease ends in the process before it ends on the server', async () => {
    const { proxy, mutex } = await scene.disturbed(brief);
    const other = await scene.process(brief);
    const guard = await mutex.lock('k');
    const waiter = watch(other.lock('k'));
    await untilWaiting(other, 1);
    proxy.blackhole(true);
    await untilLost(guard);
    expectLost(guard);
    const next = await waiter.promise;
    expect(next.valid).toBe(true);
    expect(next.token).toBeGreaterThan(guard.token);
    await next.release();
    proxy.blackhole(false);
    await mutex.run('k', ({ token }) => expect(token).toBeGreaterThan(next.token));
  });

  test('this process is suspended: the guard is not valid when it continues', async () => {
    const mutex = await scene.process(brief);
    const guard = await mutex.lock('k');
    expect(guard.valid).toBe(true);
    stall(short * 1.5);
    expect(guard.valid).toBe(false);
    expectLost(guard);
    await mutex.run('k', (next) => next.assertValid());
  });

  test('extending a lost lock rejects', async () => {
    const mutex = await scene.process(brief);
    const guard = await mutex.lock('k');
    await forgetEverything();
    await expect(guard.extend()).rejects.toThrow(LockLostError);
    expectLost(guard);
  });

  test('run settles like the function, although the lock was lost', async () => {
    const mutex = await scene.process(brief);
    const error = new Error('mine');
    const value = mutex.run('k', async (guard) => {
      await forgetEverything();
      await untilLost(guard);
      return 'value';
    });
    expect(await value).toBe('value');
    const failure = mutex.run('k', async (guard) => {
      await forgetEverything();
      await untilLost(guard);
      throw error;
    });
    await expect(failure).rejects.toBe(error);
  });

  test('a grant that arrives after its lease is confirmed first', async () => {
    const { proxy, mutex } = await scene.disturbed(brief);
    const other = await scene.process(steady);
    await mutex.run('other', () => {});
    await untilHeld(other);
    proxy.holdReplies();
    const late = watch(mutex.lock('k'));
    // The handler `pure` grants nothing before it has read replies.
    if (way.handler === 'script') await untilHeld(other, 'k');
    // The server has ended the first lease before it grants this request, so that lease has ended by any clock.
    const between = await other.lock('k');
    expect(late.state).toBe('pending');
    proxy.letGo();
    // The first process must not be admitted while the other holds the lock.
    await untilWaiting(other, 1);
    expect(late.state).toBe('pending');
    expect(between.valid).toBe(true);
    await between.release();
    const guard = await late.promise;
    expect(guard.valid).toBe(true);
    expect(guard.token).toBeGreaterThan(between.token);
  });

  test('a grant message that arrives after its lease is confirmed first', async () => {
    const { proxy, mutex } = await scene.disturbed(brief);
    const [holder, third] = [await scene.process(steady), await scene.process(steady)];
    await mutex.query();
    const held = await holder.lock('k');
    const late = watch(mutex.lock('k'));
    await untilWaiting(holder, 1);
    proxy.holdReplies();
    await held.release();
    const between = await third.lock('k');
    expect(late.state).toBe('pending');
    proxy.letGo();
    await untilWaiting(third, 1);
    expect(late.state).toBe('pending');
    expect(between.valid).toBe(true);
    await between.release();
    expect((await late.promise).valid).toBe(true);
  });

  test('replies that are always late, but within the lease, lose nothing', async () => {
    const { proxy, mutex } = await scene.disturbed({ ...way, ttl: 1_000 });
    const other = await scene.process({ ...way, ttl: 1_000 });
    proxy.delayReplies(40);
    const tokens: number[] = [];
    const work = async (each: typeof mutex) => {
      for (let i = 0; i < 3; i++) {
        await each.run('k', async (guard) => {
          expect(guard.valid).toBe(true);
          tokens.push(guard.token);
          await delay(5);
          expect(guard.valid).toBe(true);
        });
      }
    };
    await Promise.all([work(mutex), work(other)]);
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
    expect(mutex.metrics.losses + other.metrics.losses).toBe(0);
  });

  test('a close without a connection settles all requests', async () => {
    const { proxy, mutex } = await scene.disturbed(brief);
    const guard = await mutex.lock('k');
    proxy.blackhole(true);
    await mutex.close();
    expect(guard.valid).toBe(false);
  });
});

describe.each(modes)('%s, with either handler', (mode) => {
  const way = { mode };

  test('a guard that was extended outlasts a pause shorter than the ttl', async () => {
    const mutex = await scene.process({ ...way, ttl: 2_000 });
    const guard = await mutex.lock('k');
    await guard.extend();
    stall(1_000);
    expect(guard.valid).toBe(true);
    await guard.extend();
    stall(1_000);
    expect(guard.valid).toBe(true);
  });

  test('heartbeats keep a lock for much longer than its ttl', async () => {
    const [mutex, other] = [await scene.process(way), await scene.process(way)];
    const guard = await mutex.lock('k');
    const waiter = watch(other.lock('k'));
    const { batches } = mutex.metrics;
    // There are three heartbeats in a ttl.
    await expect.poll(() => mutex.metrics.batches).toBeGreaterThan(batches + 9);
    expect(guard.valid).toBe(true);
    expect(waiter.state).toBe('pending');
    await guard.release();
    await waiter.promise;
  });
});

describe.each([
  { library: 'ioredis', mode: 'local' },
  { library: 'node-redis', mode: 'strict' },
] as const)('$library, $mode, with the script', (way) => {
  const meet = async () => {
    const other = await scene.process();
    await other.query();
    // No heartbeat repairs the state during the test.
    const { proxy, mutex } = await scene.disturbed({ ...way, ttl: 60_000 });
    return { other, proxy, mutex };
  };

  test('a grant and the loss of its session arrive together: the guard is that of a later grant', async () => {
    const { other, proxy, mutex } = await meet();
    const held = await mutex.lock('a');
    proxy.holdReplies();
    const states: boolean[] = [];
    const entered = mutex.lock('b').then((guard) => {
      states.push(guard.valid);
      return guard;
    });
    await untilHeld(other, 'a', 'b');
    await forgetSessions();
    const { evalsha = 0 } = await scene.calls();
    const third = mutex.lock('c');
    await expect.poll(async () => (await scene.calls()).evalsha, soon).toBe(evalsha + 1);
    proxy.letGo();
    const guards = [await entered, await third];
    expect(states).toEqual([true]);
    expectLost(held);
    for (const guard of guards) {
      expect(guard).toMatchObject({ valid: true, released: false });
      await guard.release();
    }
    expect(mutex.metrics).toMatchObject({ grants: 3, losses: 1 });
    await untilHeld(other);
  });
});

test('a request is deleted by hand: no new request overtakes those behind it', async () => {
  await (await scene.process()).query();
  // No heartbeat repairs the state during the test.
  const ttl = 3_600_000;
  const [a, b, c] = [
    await scene.process({ ttl, mode: 'strict' }),
    await scene.process({ ttl }),
    await scene.process({ ttl, mode: 'strict' }),
  ];
  const pure = await scene.process({ ttl, handler: 'pure' });
  const [first, second] = [await a.lock('k'), await a.lock('l')];
  const lost = watch(b.lock('k'));
  await untilWaiting(a, 1);
  const state = `{${scene.namespace}}:state`;
  const fields = (await scene.server.command('HKEYS', state)) as string[];
  const waiter = c.lock('l');
  await untilWaiting(a, 2);
  const request = fields.find((field) => field.startsWith('request:')) as string;
  expect(await scene.server.command('HDEL', state, request)).toBe(1);
  // The handler `pure` counts the places of the remaining requests.
  await pure.run('m', () => {});
  await first.release();
  await second.release();
  expect(await a.tryLock('l')).toBeUndefined();
  await (await waiter).release();
  const left = (await scene.server.command('HKEYS', state)) as string[];
  expect(left.filter((field) => /^(request|lock):/.test(field))).toEqual([]);
  await b.close();
  expect(lost.state).toBe('rejected');
});
