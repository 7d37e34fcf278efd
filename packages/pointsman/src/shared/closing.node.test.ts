/** `drain`, `shutdown`, `close`, and the prefixes of error messages. */

import { describe, expect, test } from 'vitest';
import {
  type Outcome,
  soon,
  storeWays,
  untilHeld,
  untilWaiting,
  useServer,
  watch,
} from '../../tests/redis/scene.js';
import { asyncDispose } from '../sync/dispose.js';
import {
  ClosedError,
  LockLostError,
  type SharedGuard,
  type SharedMutex,
  TimeoutError,
} from './index.js';

const scene = useServer();

describe.each(storeWays)('$handler, $mode', (way) => {
  /** Of what a server, or the way there, can suffer. */
  const onServer = test.skipIf(way.handler === 'host');
  test('waiting and later requests reject with the reason', async () => {
    const [mutex, other] = [await scene.process(way), await scene.process(way)];
    const [held, guard] = [await mutex.lock('a'), await mutex.lock('c')];
    await other.lock('b');
    const { signal } = held;
    const parked = watch(mutex.condition('c').wait(guard));
    const waiters = [watch(mutex.lock('a')), watch(mutex.lock('b'))];
    await untilWaiting(other, way.mode === 'local' ? 2 : 3);
    expect(mutex.closed).toBe(false);

    const reason = { why: 'going home' };
    const closed = mutex.close(reason);
    expect(mutex.closed).toBe(true);
    expect(mutex.close(new Error('too late'))).toBe(closed);
    await closed;
    for (const waiter of [...waiters, parked]) expect(waiter.reason).toBe(reason);
    const lost = { name: 'LockLostError', message: 'the mutex was closed', cause: reason };
    expect(signal.reason).toMatchObject(lost);
    expect(() => held.assertValid()).toThrow(LockLostError);
    expect(held).toMatchObject({ valid: false, released: false });
    await held.release();
    await expect(mutex.lock('a')).rejects.toBe(reason);
    await expect(mutex.tryLock('a')).rejects.toBe(reason);
    await expect(mutex.query()).rejects.toBe(reason);
    await expect(mutex.condition('c').notify()).rejects.toBe(reason);
  });

  test('null is a reason, undefined is not', async () => {
    const [first, second] = [await scene.process(way), await scene.process(way)];
    await first.close(undefined);
    await expect(first.lock('a')).rejects.toEqual(new ClosedError('the mutex is closed'));
    await second.close(null);
    await expect(second.lock('a')).rejects.toBe(null);
  });

  onServer('a request without a reply from the server rejects with the reason', async () => {
    const { proxy, mutex } = await scene.disturbed({ ...way, ttl: 100 });
    await mutex.query();
    proxy.holdReplies();
    const asked = watch(mutex.query());
    const reason = new Error('enough');
    await mutex.close(reason);
    await expect.poll(() => asked.reason, soon).toBe(reason);
  });

  onServer('messages begin with the name', async () => {
    const mutex = await scene.process({ ...way, name: 'orders' });
    const guard = await mutex.lock('a', { owner: 1 });
    const messageOf = (promise: Promise<unknown>) =>
      promise.then(
        () => expect.unreachable(),
        (error) => `${error.name}: ${error.message}`,
      );
    const timeouts = [mutex.lock('a', { timeout: 0 }), mutex.lock('a', { timeout: 1.5 })];
    expect(await Promise.all(timeouts.map(messageOf))).toEqual([
      'TimeoutError: orders: timed out after 0 ms',
      'TimeoutError: orders: timed out after 1.5 ms',
    ]);
    expect(await messageOf(mutex.lock('a', { owner: 1 }))).toMatch(/^ReentrancyError: orders: /);
    await scene.server.command('DEL', `{${scene.namespace}}:state`);
    expect(await messageOf(guard.extend().then(() => guard.extend()))).toMatch(
      /^LockLostError: orders: the server no longer/,
    );
    await mutex.close();
    expect(await messageOf(mutex.lock('a'))).toBe('ClosedError: orders: the mutex is closed');
  });

  test('a timeout may be any number from 0 on', async () => {
    const mutex = await scene.process(way);
    for (const timeout of [0, 2 ** 31, 2 ** 40, Number.POSITIVE_INFINITY]) {
      expect(await mutex.run('a', () => 'held', { timeout })).toBe('held');
    }
    const guard = await mutex.lock('a');
    await expect(mutex.lock('a', { timeout: 0.25 })).rejects.toThrow(TimeoutError);
    const waiter = watch(mutex.lock('a', { timeout: 2 ** 40 }));
    const condition = mutex.condition('c');
    const { token } = guard;
    expect(await condition.wait(guard, { timeout: 0 })).toBe(false);
    expect(guard).toMatchObject({ token, valid: true });
    expect(waiter.state).toBe('pending');
    void waiter.promise.then((next) => next.release());
    expect(await condition.wait(guard, { timeout: 0.5 })).toBe(false);
    expect(guard.token).toBeGreaterThan(token);
  });

  test('is disposable with the fallback symbols of compilers', async () => {
    const mutex = await scene.process(way);
    const guard = await mutex.lock('a');
    await guard[asyncDispose]();
    expect(guard.released).toBe(true);
    await mutex[asyncDispose]();
    expect(mutex.closed).toBe(true);
  });

  test('counts its waiting requests', async () => {
    const mutex = await scene.process(way);
    expect(mutex.waiting).toBe(0);
    const guards = [await mutex.lock('a'), await mutex.lock('c')] as const;
    const controller = new AbortController();
    const waiters = [
      watch(mutex.lock('a')),
      watch(mutex.lock('a', { signal: controller.signal })),
      watch(mutex.condition('c').wait(guards[1])),
    ];
    expect(mutex.waiting).toBe(3);
    await untilParked(mutex);
    expect(await mutex.tryLock('a')).toBeUndefined();
    await expect(mutex.lock('a', { timeout: 0 })).rejects.toThrow(TimeoutError);
    await expect(mutex.lock('a', { signal: unusable() })).rejects.toThrow('no listener');
    expect(mutex.waiting).toBe(3);
    controller.abort();
    expect(mutex.waiting).toBe(2);
    await guards[0].release();
    await (await (waiters[0] as Outcome<SharedGuard>).promise).release();
    expect(mutex.waiting).toBe(1);
    await mutex.close();
    expect(mutex.waiting).toBe(0);
  });

  test('drain resolves when nothing is held and no request waits, and changes nothing', async () => {
    const mutex = await scene.process(way);
    await mutex.drain({ timeout: 0 });
    const [guard, other] = [await mutex.lock('a'), await mutex.lock('b')];
    const waiter = mutex.run('a', () => 'served');
    const drained = watch(mutex.drain());
    await expect(mutex.drain({ timeout: 0 })).rejects.toEqual(
      new TimeoutError('timed out after 0 ms: 2 active, 1 waiting'),
    );
    await expect(mutex.drain({ timeout: 1 })).rejects.toEqual(
      new TimeoutError('timed out after 1 ms: 2 active, 1 waiting'),
    );
    await expect(mutex.drain({ signal: AbortSignal.abort('why') })).rejects.toBe('why');
    await expect(mutex.drain({ timeout: -1 })).rejects.toThrow(RangeError);
    await guard.release();
    expect(await waiter).toBe('served');
    expect(drained.state).toBe('pending');
    await other.release();
    await drained.promise;
    expect(mutex.closed).toBe(false);
    expect(await mutex.run('a', () => 'again')).toBe('again');
  });

  onServer('drain waits until the server has acknowledged each release', async () => {
    const { proxy, mutex } = await scene.disturbed(way);
    const [guard, limited] = [await mutex.lock('a'), await mutex.lock('b', { maxHold: 50 })];
    proxy.holdReplies();
    const atLoss = new Promise<Outcome<void>>((resolve) => {
      limited.signal.onabort = () => resolve(watch(mutex.drain()));
    });
    const released = watch(guard.release());
    const drains = [watch(mutex.drain()), await atLoss];
    await expect(mutex.drain({ timeout: 1 })).rejects.toEqual(
      new TimeoutError('timed out after 1 ms: 2 active, 0 waiting'),
    );
    for (const each of [released, ...drains]) expect(each.state).toBe('pending');
    proxy.letGo();
    await Promise.all([released, ...drains].map(({ promise }) => promise));
    await mutex.drain({ timeout: 0 });
  });

  test('a close by the abort listener of a guard is the close that aborted it', async () => {
    const mutex = await scene.process(way);
    const { signal } = await mutex.lock('a');
    const closed: Promise<void>[] = [];
    signal.onabort = () => closed.push(mutex.close(new Error('second')));
    closed.push(mutex.close(new Error('first')));
    expect(closed[0]).toBe(closed[1]);
    await closed[0];
    await expect(mutex.lock('a')).rejects.toThrow('first');
  });

  test('shutdown refuses new requests, serves the queue and closes', async () => {
    const [mutex, other] = [await scene.process(way), await scene.process(way)];
    const [guard, foreign] = [await mutex.lock('a'), await other.lock('b')];
    const served: string[] = [];
    const waiters = [
      mutex.run('a', () => served.push('a')),
      mutex.run('b', () => served.push('b')),
    ];
    await untilWaiting(other, way.mode === 'local' ? 1 : 2);
    const down = watch(mutex.shutdown());
    expect(mutex.closed).toBe(true);
    await expect(mutex.lock('z')).rejects.toEqual(new ClosedError('the mutex is closed'));
    await expect(mutex.tryLock('z')).rejects.toThrow(ClosedError);
    await expect(mutex.shutdown({ timeout: 1 })).rejects.toEqual(
      new TimeoutError('timed out after 1 ms: 1 active, 2 waiting'),
    );
    await expect(mutex.shutdown({ signal: AbortSignal.abort('why') })).rejects.toBe('why');
    expect(guard.valid).toBe(true);
    expect((await mutex.query()).held.length).toBeGreaterThan(0);
    await guard.release();
    await foreign.release();
    await Promise.all(waiters);
    expect(served.sort()).toEqual(['a', 'b']);
    await down.promise;
    await expect(mutex.query()).rejects.toThrow(ClosedError);
    await mutex.shutdown();
    await mutex[asyncDispose]();
    await untilHeld(other);
  });

  test('a shutdown whose caller gave up continues, and closes in the end', async () => {
    const mutex = await scene.process(way);
    const guard = await mutex.lock('a');
    const waiter = mutex.run('a', () => 'served');
    await expect(mutex.shutdown({ timeout: 0 })).rejects.toThrow(TimeoutError);
    await guard.release();
    expect(await waiter).toBe('served');
    await expect.poll(() => isOver(mutex), soon).toBe(true);
  });

  test('close after a shutdown rejects the requests that still wait with its own reason', async () => {
    const mutex = await scene.process(way);
    const guard = await mutex.lock('a');
    const { signal } = guard;
    const waiter = watch(mutex.lock('a'));
    const down = watch(mutex.shutdown());
    const reason = { why: 'enough' };
    await mutex.close(reason);
    expect(waiter.reason).toBe(reason);
    expect(signal.reason).toMatchObject({ name: 'LockLostError', cause: reason });
    await down.promise;
    await expect(mutex.lock('a')).rejects.toEqual(new ClosedError('the mutex is closed'));
  });

  test('a shutdown lets holders wait at conditions and notify', async () => {
    const mutex = await scene.process(way);
    let ready = false;
    const consumer = mutex.run('a', async (guard) => {
      while (!ready) await mutex.condition('c').wait(guard);
      return 'consumed';
    });
    const producing = await mutex.lock('p');
    await untilParked(mutex);
    const down = watch(mutex.shutdown());
    expect(await mutex.condition('c').notify()).toBe(1);
    await untilParked(mutex);
    ready = true;
    expect(await mutex.condition('c').notifyAll()).toBe(1);
    expect(await consumer).toBe('consumed');
    expect(down.state).toBe('pending');
    await producing.release();
    await down.promise;
  });

  onServer('a refused wait at a condition is no longer counted', async () => {
    const mutex = await scene.process(way);
    const guard = await mutex.lock('a');
    await scene.server.command('CONFIG', 'SET', 'maxmemory', '1');
    try {
      await expect(mutex.condition('c').wait(guard)).rejects.toThrow(/OOM/);
    } finally {
      await scene.server.command('CONFIG', 'SET', 'maxmemory', '0');
    }
    expect(mutex.waiting).toBe(0);
    await guard.release();
    await mutex.drain({ timeout: 1_000 });
  });
});

/** A signal to which no listener can be added. */
function unusable(): AbortSignal {
  const { signal } = new AbortController();
  signal.addEventListener = () => {
    throw new Error('no listener');
  };
  return signal;
}

const isOver = (mutex: SharedMutex): Promise<boolean> =>
  mutex.query().then(
    () => false,
    (error) => error instanceof ClosedError,
  );

/** Waits until a request is parked at a condition. */
async function untilParked(mutex: SharedMutex): Promise<void> {
  await expect
    .poll(async () => (await mutex.query()).waiting.filter((each) => each.condition).length, soon)
    .toBe(1);
}

test('a method called without its object rejects or throws, and says so', async () => {
  const mutex = await scene.process();
  const guard = await mutex.lock('a');
  const { drain, shutdown, close, query, forceUnlock, wrap, condition } = mutex;
  const { wait, notify, notifyAll } = mutex.condition('c');
  const { extend, assertValid } = guard;
  const error = (method: string) => new TypeError(`${method} must be called on its object`);
  const calls = { drain, shutdown, close, query, forceUnlock, wait, notify, notifyAll, extend };
  for (const [method, call] of Object.entries(calls)) {
    await expect((call as () => Promise<unknown>)()).rejects.toEqual(error(method));
  }
  for (const [method, call] of Object.entries({ wrap, condition, assertValid })) {
    expect(() => (call as () => unknown)(), method).toThrow(error(method));
  }
  await guard.release();
});
