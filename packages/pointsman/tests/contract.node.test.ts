/**
 * The contract that all built entries share: what bounds a wait, what `close` does, which options are rejected and
 * with which error. Each entry gets the same calls and must give the same results.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { build } from 'esbuild';
import * as sync from 'pointsman';
import * as bridge from 'pointsman/bridge';
import * as pool from 'pointsman/pool';
import * as redis from 'pointsman/redis';
import * as shared from 'pointsman/shared';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connect } from './redis/clients.js';
import { type Server, startServer } from './servers/server.js';

interface Closable {
  readonly closed: boolean;
  close(reason?: unknown): unknown;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A primitive that can be closed, with all of its capacity held. */
interface Scene {
  readonly object: Closable;
  /** A request that has to wait. */
  wait(options?: object): Promise<unknown>;
  /** Releases what is held. */
  release(): unknown;
}

interface Subject {
  readonly name: string;
  readonly ClosedError: typeof sync.ClosedError;
  readonly TimeoutError: typeof sync.TimeoutError;
  make(): Promise<Scene>;
  /** Functions other than `wait` that take options; each is called with invalid ones. */
  others(): Promise<((options: never) => unknown)[]>;
}

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const forever = pool.inline(() => new Promise<never>(() => {}));

/** Both sides of a bridge, in one thread. */
async function connected() {
  const { port1, port2 } = new MessageChannel();
  const api = { never: () => new Promise<never>(() => {}) };
  const host = bridge.expose<typeof api, typeof api>(port1 as never, api as never);
  const worker = bridge.connect<typeof api>({ port: port2 as never, serve: api });
  onTestFinished(() => {
    host.close();
    port1.close();
    port2.close();
  });
  await Promise.all([host.ready, worker.ready]);
  return { host, worker };
}

async function busyPool(maxWaiting: number) {
  const object = new pool.Pool({ threads: 1, maxWaiting });
  onTestFinished(() => object.terminate());
  const ending = new AbortController();
  const running = object.run(forever, [], { signal: ending.signal });
  const release = () => ending.abort();
  running.catch(() => {});
  return { object, release };
}

async function redisMutex(mode: 'local' | 'strict') {
  const client = await connect('ioredis', server.port);
  const mutex = new shared.SharedMutex(
    redis.redis(client, { namespace: `contract ${Math.random()}` }),
    { mode },
  );
  onTestFinished(() => mutex.close());
  return mutex;
}

const redisSubject = (mode: 'local' | 'strict'): Subject => ({
  ...shared,
  name: `SharedMutex, ${mode}`,
  make: async () => {
    const object = await redisMutex(mode);
    const guard = await object.lock('a');
    return {
      object,
      wait: (options) => object.lock('a', options),
      release: () => guard.release(),
    };
  },
  others: async () => {
    const client = await connect('ioredis', server.port);
    const mutex = await redisMutex(mode);
    return [
      (options) => redis.redis(client, options),
      (options) => new shared.SharedMutex(redis.redis(client), options),
      (options) => mutex.tryLock('b', options),
      (options) => mutex.run('b', () => 1, options),
      (options) => mutex.wrap('b', () => 1, options),
      (options) => mutex.run('b', (guard) => mutex.condition('c').wait(guard, options)),
    ];
  },
});

const subjects: Subject[] = [
  {
    ...sync,
    name: 'Semaphore',
    make: async () => {
      const object = new sync.Semaphore(1);
      const { release } = await object.acquire();
      return { object, wait: (options) => object.acquire(options), release };
    },
    others: async () => {
      const semaphore = new sync.Semaphore(1);
      return [
        (options) => new sync.Semaphore(1, options),
        (options) => semaphore.tryAcquire(options),
        (options) => semaphore.run(() => 1, options),
        (options) => semaphore.drain(options),
      ];
    },
  },
  {
    ...sync,
    name: 'Mutex',
    make: async () => {
      const object = new sync.Mutex();
      const { release } = await object.lock();
      return { object, wait: (options) => object.lock(options), release };
    },
    others: async () => {
      const mutex = new sync.Mutex();
      return [
        (options) => new sync.Mutex(options),
        (options) => mutex.tryLock(options),
        (options) => mutex.run(() => 1, options),
        (options) => mutex.drain(options),
      ];
    },
  },
  {
    ...sync,
    name: 'KeyedSemaphore',
    make: async () => {
      const object = new sync.KeyedSemaphore<string>(1);
      const { release } = await object.acquire('a');
      return { object, wait: (options) => object.acquire('a', options), release };
    },
    others: async () => {
      const semaphores = new sync.KeyedSemaphore<string>(1);
      return [
        (options) => new sync.KeyedSemaphore(1, options),
        (options) => semaphores.tryAcquire('a', options),
        (options) => semaphores.run('a', () => 1, options),
        (options) => semaphores.drain(options),
      ];
    },
  },
  {
    ...sync,
    name: 'KeyedMutex',
    make: async () => {
      const object = new sync.KeyedMutex<string>();
      const { release } = await object.lock('a');
      return { object, wait: (options) => object.lock('a', options), release };
    },
    others: async () => {
      const mutexes = new sync.KeyedMutex<string>();
      return [
        (options) => new sync.KeyedMutex(options),
        (options) => mutexes.tryLock('a', options),
        (options) => mutexes.run('a', () => 1, options),
        (options) => mutexes.drain(options),
      ];
    },
  },
  {
    ...pool,
    name: 'Pool, waitForSpace',
    make: async () => {
      const { object, release } = await busyPool(0);
      return { object, wait: (options) => object.waitForSpace(options), release };
    },
    others: async () => {
      const { object } = await busyPool(0);
      return [
        (options) => new pool.Pool(options),
        (options) => object.run(forever, [], options),
        (options) => object.map(forever as never, [] as never, options).next(),
        (options) => object.drain(options),
        (options) => object.shutdown(options),
      ];
    },
  },
  {
    ...pool,
    name: 'Pool, run',
    make: async () => {
      const { object, release } = await busyPool(Number.POSITIVE_INFINITY);
      return { object, wait: (options) => object.run(forever, [], options), release };
    },
    others: async () => [],
  },
  {
    ...bridge,
    name: 'expose',
    make: async () => {
      const { host } = await connected();
      const wait = async (options: object = {}) => host.with(options).never();
      return { object: host, wait, release: () => {} };
    },
    others: async () => {
      const { port1 } = new MessageChannel();
      return [(options) => bridge.expose(port1 as never, {}, options)];
    },
  },
  {
    ...bridge,
    name: 'connect',
    make: async () => {
      const { worker } = await connected();
      const wait = async (options: object = {}) => worker.with(options).async.never();
      return { object: worker as never, wait, release: () => {} };
    },
    others: async () => [(options) => bridge.connect(options)],
  },
  redisSubject('local'),
  redisSubject('strict'),
];

/** The state of a promise that has not settled. */
const pending = Symbol('pending');
const stateOf = (promise: Promise<unknown>, ms = 30): Promise<unknown> =>
  Promise.race([promise, new Promise((resolve) => setTimeout(resolve, ms, pending))]);

/** The error that a call throws or rejects with. */
async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error('no error was thrown');
}

/** An abort signal of another realm. */
const foreignSignal = () =>
  runInNewContext(`({
    aborted: false,
    reason: undefined,
    listeners: new Set(),
    addEventListener(type, listener) { this.listeners.add(listener); },
    removeEventListener(type, listener) { this.listeners.delete(listener); },
    abort(reason) {
      this.aborted = true;
      this.reason = reason;
      for (const listener of this.listeners) listener({ type: 'abort' });
    },
  })`) as AbortSignal & { abort(reason: unknown): void; listeners: Set<unknown> };

const notNumbers = ['1', null, true, 1n, [], {}] as const;
const shown = ['"1"', 'null', 'true', '1n', 'Array', 'object'];

describe.each(subjects)('$name', ({ ClosedError, TimeoutError, make, others }) => {
  test('timeout: 0 does not wait, a finite one expires, Infinity and more than 24.8 days do not', async () => {
    const { wait } = await make();
    for (const timeout of [0, 0.5, 5]) {
      const error = await errorOf(() => wait({ timeout }));
      expect(error).toBeInstanceOf(TimeoutError);
      expect(error).toMatchObject({
        name: 'TimeoutError',
        message: expect.stringMatching(` ${timeout} ms$`),
      });
    }
    const long = [undefined, Number.POSITIVE_INFINITY, 2 ** 31, 2 ** 40];
    const ending = new AbortController();
    const waits = long.map((timeout) => wait({ timeout, signal: ending.signal }));
    expect(await stateOf(Promise.race(waits))).toBe(pending);
    ending.abort('enough');
    for (const each of waits) await expect(each).rejects.toBe('enough');
  });

  test('an invalid timeout is rejected', async () => {
    const { wait } = await make();
    const expected = 'timeout must be a number of milliseconds >= 0, got';
    for (const timeout of [-1, -0.5, Number.NaN, Number.NEGATIVE_INFINITY]) {
      expect(await errorOf(() => wait({ timeout }))).toEqual(
        new RangeError(`${expected} ${timeout}`),
      );
    }
    for (const [i, timeout] of notNumbers.entries()) {
      expect(await errorOf(() => wait({ timeout }))).toEqual(
        new TypeError(`${expected} ${shown[i]}`),
      );
    }
  });

  test('a signal of any realm rejects the wait with its reason', async () => {
    const { wait } = await make();
    for (const reason of [new Error('why'), 'text', null, 0]) {
      expect(await errorOf(() => wait({ signal: AbortSignal.abort(reason) }))).toBe(reason);
      // An aborted signal comes before every other reason to reject.
      expect(await errorOf(() => wait({ signal: AbortSignal.abort(reason), timeout: 0 }))).toBe(
        reason,
      );
      const [controller, foreign] = [new AbortController(), foreignSignal()];
      const waits = [wait({ signal: controller.signal }), wait({ signal: foreign })];
      controller.abort(reason);
      foreign.abort(reason);
      for (const each of waits) await expect(each).rejects.toBe(reason);
      expect(foreign.listeners.size).toBe(0);
    }
  });

  test('an invalid signal is rejected', async () => {
    const { wait } = await make();
    for (const [i, signal] of notNumbers.entries()) {
      const error = new TypeError(`signal must be an AbortSignal, got ${shown[i]}`);
      expect(await errorOf(() => wait({ signal }))).toEqual(error);
    }
  });

  test('invalid options and unknown option names are rejected by every function', async () => {
    const { wait } = await make();
    for (const call of [wait as (options: never) => unknown, ...(await others())]) {
      const bad = [null, 1, 'x', () => {}, [], new Map(), new Date(), new AbortController().signal];
      const names = ['null', '1', '"x"', 'function', 'Array', 'Map', 'Date', 'AbortSignal'];
      for (const [i, options] of bad.entries()) {
        const error = new TypeError(`options must be an object, got ${names[i]}`);
        expect(await errorOf(() => call(options as never)), String(call)).toEqual(error);
      }
      const error = await errorOf(() => call({ tiemout: 1 } as never));
      expect(error, String(call)).toBeInstanceOf(TypeError);
      expect(error).toMatchObject({
        message: expect.stringMatching(/^options has "tiemout", expected only \w+/),
      });
    }
    const options = runInNewContext('({ timeout: 0 })') as object;
    await expect(wait(options)).rejects.toThrow(TimeoutError);
    await expect(wait(Object.assign(Object.create(null), { timeout: 0 }))).rejects.toThrow(
      TimeoutError,
    );
  });

  test.each([new Error('why'), 'text', '', null, 0, false, { why: 1 }])(
    'close(%j) rejects waiting and later requests with that reason',
    async (reason) => {
      const { object, wait, release } = await make();
      expect(object.closed).toBe(false);
      const waits = [wait(), wait({}), wait({ timeout: 60_000 })].map((each) =>
        errorOf(() => each),
      );
      // By then each request has been sent.
      await stateOf(Promise.race(waits));
      const first = object.close(reason);
      expect(object.closed).toBe(true);
      const second = object.close('too late');
      expect(second).toBe(first);
      for (const each of waits) expect(await each).toBe(reason);
      expect(await errorOf(() => wait())).toBe(reason);
      expect(await errorOf(() => wait({ timeout: 0 }))).toBe(reason);
      expect(await errorOf(() => wait({ timeout: -1 }))).toBeInstanceOf(RangeError);
      expect(await errorOf(() => wait({ signal: AbortSignal.abort('aborted') }))).toBe('aborted');
      await release();
      await first;
    },
  );

  test('close without a reason, or with undefined, rejects with a ClosedError', async () => {
    for (const reasons of [[], [undefined]]) {
      const { object, wait, release } = await make();
      const waiting = errorOf(() => wait());
      await stateOf(waiting);
      void object.close(...reasons);
      for (const error of [await waiting, await errorOf(() => wait())]) {
        expect(error).toBeInstanceOf(ClosedError);
        expect(error).toBeInstanceOf(sync.ClosedError);
        expect((error as Error).name).toMatch(/^(Bridge|Pool)?ClosedError$/);
        expect((error as Error).message).toMatch(/ closed\b/);
      }
      await release();
    }
  });

  test('await using closes it, and waits for what is held', async () => {
    const { object, wait, release } = await make();
    const disposed = object[Symbol.asyncDispose]();
    expect(object.closed).toBe(true);
    expect(await errorOf(() => wait())).toBeInstanceOf(ClosedError);
    await release();
    await disposed;
    await object[Symbol.asyncDispose]();
  });
});

test('a method called without its object rejects with an error that names the method', async () => {
  const [{ acquire }, { lock }] = [new sync.Semaphore(1), new sync.Mutex()];
  for (const call of [() => acquire(), () => lock()]) {
    await expect(call()).rejects.toThrow(TypeError);
  }
  const { run, waitForSpace, drain, shutdown } = new pool.Pool({ threads: 1 });
  const mutex = await redisMutex('local');
  const { lock: lockKeys, tryLock, run: runLocked } = mutex;
  const calls: [string, () => Promise<unknown>][] = [
    ['run', () => run(forever)],
    ['waitForSpace', () => waitForSpace()],
    ['drain', () => drain()],
    ['shutdown', () => shutdown()],
    ['lock', () => lockKeys('a')],
    ['tryLock', () => tryLock('a')],
    ['run', () => runLocked('a', () => 1)],
  ];
  for (const [method, call] of calls) {
    const error = new TypeError(`${method} must be called on its object`);
    await expect(call()).rejects.toEqual(error);
  }
});

test('a grant can be released by its detached release function', async () => {
  const semaphore = new sync.Semaphore(1);
  setTimeout((await semaphore.acquire()).release, 0, 'an argument');
  await semaphore.acquire();
  for (const mode of ['local', 'strict'] as const) {
    const mutex = await redisMutex(mode);
    const guard = await mutex.lock('a');
    setTimeout(guard.release, 0, 'an argument');
    await mutex.lock('a');
    expect(guard.released).toBe(true);
  }
});

test('maxWaiting accepts the same numbers everywhere', () => {
  const worker = () => expect.unreachable() as never;
  const makers = [
    (maxWaiting: number) => new sync.Semaphore(1, { maxWaiting }),
    (maxWaiting: number) => new sync.KeyedMutex({ maxWaiting }),
    (maxWaiting: number) => new pool.Pool({ worker, maxWaiting }),
  ];
  for (const make of makers) {
    for (const good of [0, 1, 2 ** 40, Number.POSITIVE_INFINITY]) make(good);
    for (const bad of [-1, 0.5, Number.NaN]) {
      const expected = 'maxWaiting must be an integer >= 0 or Infinity, got';
      expect(() => make(bad)).toThrow(new RangeError(`${expected} ${bad}`));
    }
  }
});

const errors = ['ClosedError', 'TimeoutError', 'QueueFullError', 'ReentrancyError'] as const;

test.each(['node', 'browser'] as const)(
  'in a bundle for %s all entries export the same errors',
  async (platform) => {
    const folder = await mkdtemp(join(tmpdir(), 'pointsman-contract-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'main.mjs');
    await build({
      stdin: {
        contents: `
          import * as sync from 'pointsman';
          import * as bridge from 'pointsman/bridge';
          import * as pool from 'pointsman/pool';
          import * as shared from 'pointsman/shared';
          const found = ${JSON.stringify(errors)}.map((name) =>
            [sync, bridge, pool, shared].filter((entry) => name in entry)
              .map((entry) => entry[name] === sync[name]));
          const bases = [new bridge.BridgeClosedError(''), new pool.PoolClosedError('')]
            .map((error) => error instanceof sync.ClosedError);
          console.log(JSON.stringify([...found, bases]));
        `,
        resolveDir: fileURLToPath(new URL('.', import.meta.url)),
      },
      bundle: true,
      minify: true,
      platform,
      format: 'esm',
      target: 'es2022',
      external: ['node:*'],
      outfile: file,
    });
    await writeFile(join(folder, 'package.json'), '{}');
    const { stdout } = await promisify(execFile)(process.execPath, [file]);
    const yes = (count: number) => new Array(count).fill(true);
    expect(JSON.parse(stdout)).toEqual([yes(4), yes(4), yes(3), yes(2), yes(2)]);
  },
);
