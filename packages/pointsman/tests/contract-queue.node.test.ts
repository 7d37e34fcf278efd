/**
 * The common contract of all built entries that queue requests: how each ends, how many requests may wait, and what
 * bounds the wait and the work. Each entry gets the same calls and must give the same results.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as sync from 'pointsman';
import * as pool from 'pointsman/pool';
import * as redis from 'pointsman/redis';
import * as shared from 'pointsman/shared';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connect } from './redis/clients.js';
import { type Server, startServer } from './servers/server.js';

// biome-ignore lint/suspicious/noExplicitAny: entries of different types get the same calls
type Any = any;

/** The permit, lock or task of a granted request. */
interface Held {
  release(): unknown;
}

interface Entry {
  readonly object: Any;
  /** Makes an exclusive request; resolves when it is granted. */
  request(options?: object): Promise<Held>;
}

interface Subject {
  readonly name: string;
  readonly ClosedError: typeof sync.ClosedError;
  /** Whether `close` leaves held permits valid. */
  readonly keepsHeld: boolean;
  readonly takesMaxWaiting: boolean;
  make(options?: object): Promise<Entry>;
}

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const kept = { keepsHeld: true, takesMaxWaiting: true };

const local = (
  name: string,
  make: (options?: object) => Any,
  request: (object: Any, options?: object) => Promise<Held>,
): Subject => ({
  ...sync,
  ...kept,
  name,
  make: async (options) => {
    const object = make(options);
    return { object, request: (more) => request(object, more) };
  },
});

/** A task that reports that it runs, and then runs until it is released. */
const task = pool.inline(async (begun: () => Promise<void>, end: () => Promise<void>) => {
  await begun();
  await end();
});

function runTask(object: Any, options?: object): Promise<Held> {
  return new Promise((resolve, reject) => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const begun = () => resolve({ release });
    object.run(task, [begun, () => released], options).catch(reject);
  });
}

const redisSubject = (mode: 'local' | 'strict'): Subject => ({
  ...shared,
  name: `SharedMutex, ${mode}`,
  keepsHeld: false,
  takesMaxWaiting: false,
  make: async () => {
    const client = await connect('ioredis', server.port);
    const namespace = `contract ${Math.random()}`;
    const object = new shared.SharedMutex(redis.redis(client, { namespace }), { mode });
    onTestFinished(() => object.close());
    return { object, request: (options) => object.lock('a', options) };
  },
});

const subjects: Subject[] = [
  local(
    'Semaphore',
    (options) => new sync.Semaphore(1, options),
    (object, options) => object.acquire(options),
  ),
  local(
    'Mutex',
    (options) => new sync.Mutex(options),
    (object, options) => object.lock(options),
  ),
  local(
    'RwLock',
    (options) => new sync.RwLock(options),
    (object, options) => object.write(options),
  ),
  local(
    'KeyedSemaphore',
    (options) => new sync.KeyedSemaphore(1, options),
    (object, options) => object.acquire('a', options),
  ),
  local(
    'KeyedMutex',
    (options) => new sync.KeyedMutex(options),
    (object, options) => object.lock('a', options),
  ),
  local(
    'KeyedRwLock',
    (options) => new sync.KeyedRwLock(options),
    (object, options) => object.write('a', options),
  ),
  local(
    'Limiter',
    (options) => new sync.Limiter({ concurrency: 1, ...options }),
    (object, options) => object.acquire(options),
  ),
  {
    ...pool,
    ...kept,
    name: 'Pool',
    make: async (options) => {
      const object = new pool.Pool({ threads: 1, ...options });
      onTestFinished(() => object.terminate());
      return { object, request: (more) => runTask(object, more) };
    },
  },
  redisSubject('local'),
  redisSubject('strict'),
];

const pending = Symbol('pending');
const stateOf = (promise: Promise<unknown>, ms = 50): Promise<unknown> =>
  Promise.race([
    promise.then(
      () => 'resolved',
      () => 'rejected',
    ),
    new Promise((resolve) => setTimeout(resolve, ms, pending)),
  ]);

const errorOf = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('no error was thrown');
};

/** Waits until the object has this many waiting requests; fails the test otherwise. */
const untilWaiting = (object: Any, waiting: number) =>
  expect.poll(() => object.waiting).toBe(waiting);

/** One request that holds, and two that wait. */
async function busy({ make }: Subject) {
  const { object, request } = await make();
  const held = await request();
  const waits = [request(), request({ timeout: 60_000 })];
  for (const wait of waits) wait.catch(() => {});
  await untilWaiting(object, 2);
  return { object, request, held, waits };
}

async function finish(held: Held, waits: Promise<Held>[]): Promise<void> {
  await held.release();
  for (const wait of waits) await (await wait).release();
}

describe.each(subjects)('$name', (subject) => {
  const { ClosedError, keepsHeld, make, takesMaxWaiting } = subject;

  test('waiting is the number of waiting requests', async () => {
    const { object, held, waits } = await busy(subject);
    expect(object.waiting).toBe(2);
    await finish(held, waits);
    await untilWaiting(object, 0);
  });

  test('close refuses new requests, rejects waiting ones, and lets running ones finish', async () => {
    const { object, request, held, waits } = await busy(subject);
    const closed = object.close('enough');
    expect(object.closed).toBe(true);
    for (const wait of waits) expect(await errorOf(wait)).toBe('enough');
    expect(await errorOf(request())).toBe('enough');
    if (closed instanceof Promise && keepsHeld) expect(await stateOf(closed)).toBe(pending);
    await held.release();
    await closed;
  });

  test('drain accepts and serves requests, and changes nothing', async () => {
    const { object, request, held, waits } = await busy(subject);
    const drained = object.drain();
    const later = request();
    expect(await stateOf(drained)).toBe(pending);
    await finish(held, [...waits, later]);
    await drained;
    expect(object.closed).toBe(false);
    await (await request()).release();
  });

  test('shutdown refuses new requests, serves waiting ones, and resolves when all are done', async () => {
    const { object, request, held, waits } = await busy(subject);
    const ended = object.shutdown();
    expect(object.closed).toBe(true);
    expect(await errorOf(request())).toBeInstanceOf(ClosedError);
    expect(await stateOf(ended)).toBe(pending);
    await finish(held, waits);
    await ended;
    await object.shutdown();
    expect(await errorOf(request())).toBeInstanceOf(ClosedError);
  });

  test('the options of shutdown bound only the wait of its caller; the error says how much is left', async () => {
    const { object, request, held, waits } = await busy(subject);
    const error = await errorOf(object.shutdown({ timeout: 5 }));
    expect(error).toBeInstanceOf(sync.TimeoutError);
    expect((error as Error).message).toMatch(/\b1\b.*\b2\b/);
    expect(await errorOf(object.shutdown({ signal: AbortSignal.abort('late') }))).toBe('late');
    expect(object.closed).toBe(true);
    expect(await errorOf(request())).toBeInstanceOf(ClosedError);
    await finish(held, waits);
    await object.shutdown();
  });

  test('a signal that has aborted ends the wait of shutdown, but not its effect', async () => {
    const { object } = await make();
    await errorOf(object.shutdown({ timeout: -1 }));
    expect(object.closed).toBe(false);
    const aborted = AbortSignal.abort('late');
    await object.shutdown({ signal: aborted }).catch(() => {});
    expect(object.closed).toBe(true);
  });

  test('close after shutdown rejects waiting requests; new ones still get the ClosedError', async () => {
    const { object, request, held, waits } = await busy(subject);
    const ended = object.shutdown();
    const closed = object.close('enough');
    for (const wait of waits) expect(await errorOf(wait)).toBe('enough');
    expect(await errorOf(request())).toBeInstanceOf(ClosedError);
    await held.release();
    await closed;
    await ended;
  });

  test('the timeout of drain and of shutdown says how much is left', async () => {
    const { object, held, waits } = await busy(subject);
    const left = new sync.TimeoutError('timed out after 1 ms: 1 active, 2 waiting');
    expect(await errorOf(object.drain({ timeout: 1 }))).toEqual(left);
    expect(await errorOf(object.shutdown({ timeout: 1 }))).toEqual(left);
    await finish(held, waits);
  });

  test('await using calls shutdown', async () => {
    const { object, held, waits } = await busy(subject);
    const disposed = object[Symbol.asyncDispose]();
    expect(object.closed).toBe(true);
    expect(await stateOf(disposed)).toBe(pending);
    await finish(held, waits);
    await disposed;
  });

  test('timeout bounds the wait, not the work; 0 does not wait', async () => {
    const { object, request } = await make();
    // By then a pool has a thread.
    await (await request()).release();
    await object.drain?.();
    const held = await request({ timeout: 20 });
    expect(await errorOf(request({ timeout: 0 }))).toBeInstanceOf(sync.TimeoutError);
    expect(await errorOf(request({ timeout: 30 }))).toBeInstanceOf(sync.TimeoutError);
    const next = request();
    expect(await stateOf(next)).toBe(pending);
    await finish(held, [next]);
  });

  test('a method called without its object says so', async () => {
    const { object } = await make();
    const methods = new Map<string, Any>();
    for (let at = object; at !== Object.prototype; at = Object.getPrototypeOf(at)) {
      for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
        const isMethod = typeof value === 'function' && !/^(_|constructor$)/.test(name);
        if (isMethod && !methods.has(name)) methods.set(name, value);
      }
    }
    expect([...methods.keys()]).toContain('close');
    for (const [name, method] of methods) {
      const call = async () => {
        const outcome = await method('a', () => 1);
        await (outcome?.result ?? outcome?.next?.());
      };
      expect(await errorOf(call()), name).toEqual(
        new TypeError(`${name} must be called on its object`),
      );
    }
  });

  test('maxWaiting bounds the queue, and the new request is refused', async () => {
    if (!takesMaxWaiting) return;
    const { object, request } = await make({ maxWaiting: 1 });
    const held = await request();
    const waiter = request();
    await untilWaiting(object, 1);
    expect(await errorOf(request())).toBeInstanceOf(sync.QueueFullError);
    expect(await errorOf(request({ timeout: 60_000 }))).toBeInstanceOf(sync.QueueFullError);
    expect(object.waiting).toBe(1);
    await finish(held, [waiter]);
  });
});

const queues = subjects.filter(({ name }) => ['Limiter', 'Pool'].includes(name));
describe.each(queues)('the queue of a $name', (subject) => {
  const { make } = subject;

  test('whenFull is reject or drop-oldest', async () => {
    for (const whenFull of ['wait', 'shed']) {
      await expect(make({ maxWaiting: 1, whenFull })).rejects.toThrow(/^whenFull must be /);
    }
    const { object, request } = await make({ maxWaiting: 1, whenFull: 'drop-oldest' });
    const held = await request();
    const oldest = request();
    oldest.catch(() => {});
    await untilWaiting(object, 1);
    const newest = request();
    expect(await errorOf(oldest)).toBeInstanceOf(sync.QueueFullError);
    expect(await errorOf(request({ priority: -1 }))).toBeInstanceOf(sync.QueueFullError);
    expect(object.waiting).toBe(1);
    await finish(held, [newest]);
  });

  test('waitForSpace resolves when a request would be queued', async () => {
    const { object, request } = await make({ maxWaiting: 1 });
    const held = await request();
    await object.waitForSpace({ timeout: 0 });
    const waiter = request();
    await untilWaiting(object, 1);
    expect(await errorOf(object.waitForSpace({ timeout: 5 }))).toBeInstanceOf(sync.TimeoutError);
    const space = object.waitForSpace();
    expect(await stateOf(space)).toBe(pending);
    await held.release();
    await space;
    await (await waiter).release();
    await (await make()).object.waitForSpace();
  });

  test('waitForSpace reserves the space until the await has continued', async () => {
    const { object, request } = await make({ maxWaiting: 2 });
    const held = await request();
    const waits: Promise<Held>[] = [];
    const produce = async () => {
      await object.waitForSpace();
      waits.push(request());
    };
    const producers = [produce(), produce(), produce()] as const;
    await Promise.all(producers.slice(0, 2));
    expect(await stateOf(producers[2])).toBe(pending);
    await finish(held, waits.slice(0, 1));
    await producers[2];
    for (const wait of waits.slice(1)) await (await wait).release();
    // Spaces that the callers did not use are free again.
    await Promise.all([1, 2, 3, 4, 5].map(() => object.waitForSpace()));
  });

  test('waitForSpace of a queue without space resolves when a request would begin', async () => {
    const { object, request } = await make({ maxWaiting: 0 });
    await object.waitForSpace();
    const held = await request();
    expect(await errorOf(object.waitForSpace({ timeout: 0 }))).toBeInstanceOf(sync.TimeoutError);
    const space = object.waitForSpace();
    expect(await stateOf(space)).toBe(pending);
    await held.release();
    await space;
    await (await request()).release();
  });

  test('runTimeout bounds the work, aborts its signal and frees the slot', async () => {
    const { object } = await make();
    const run = (options?: object): Promise<unknown> =>
      subject.name === 'Pool'
        ? object.run(forever, [], options)
        : object.run((_: unknown, { signal }: { signal: AbortSignal }) => aborted(signal), options);
    const error = await errorOf(run({ runTimeout: 50 }));
    expect(error).toBeInstanceOf(sync.TimeoutError);
    expect((error as Error).message).toMatch(/ 50 ms$/);
    await object.drain();
    expect([object.waiting, object.running]).toEqual([0, 0]);
    for (const runTimeout of [-1, Number.NaN]) {
      expect(await errorOf(run({ runTimeout }))).toBeInstanceOf(RangeError);
    }
  });
});

const forever = pool.inline(() => new Promise<never>(() => {}));

/** Work that ends when the test releases it. */
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve()));

describe('a request that is refused later and has no handler', () => {
  const program = (first: string, line: string): string => `
    import { Limiter, Semaphore } from 'pointsman';
    import { inline, Pool } from 'pointsman/pool';
    ${first}
    ${line}
    object.close();
    setTimeout(() => {}, 50);
  `;
  const entries = {
    Semaphore: [
      'const object = new Semaphore(1); const permit = await object.acquire();',
      'object.acquire()',
    ],
    Limiter: [
      'const object = new Limiter({ concurrency: 1 }); const permit = await object.acquire();',
      'object.run(() => 1)',
    ],
    Pool: ['const object = new Pool({ threads: 1 });', 'object.run(inline(() => 1))'],
  };
  const run = (code: string) =>
    promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
    });

  test.each(Object.entries(entries))('%s', async (_name, [first = '', call = '']) => {
    const error = await errorOf(run(program(first, `void ${call};`)));
    expect((error as { stderr: string }).stderr).toContain('ClosedError');
    await run(program(first, `${call}.catch(() => {});`));
  });
});

test('no name is a number or a flag in one class and a method in another', async () => {
  const made = await Promise.all(subjects.map(({ make }) => make()));
  const watch = new sync.Watch(1);
  const broadcast = new sync.Broadcast(1);
  const objects: object[] = [
    ...made.map(({ object }) => object),
    watch,
    watch.subscribe(),
    broadcast,
    broadcast.subscribe(),
    ...[new sync.Barrier(1), new sync.Channel(1), new sync.Condition(new sync.Mutex())],
    ...[new sync.Latch(1), new sync.Notify()],
    ...[new sync.Semaphore(1).tryAcquire(), new sync.RwLock().tryWrite()].map((each) => each ?? {}),
    new sync.KeyedMutex().tryLockAll(['a']) ?? {},
    await (made.at(-1) as Entry).request(),
  ];
  const uses = new Map<string, { values: Set<string>; methods: Set<string> }>();
  for (const object of objects) {
    const names = new Set<string>();
    for (let at = object; at !== Object.prototype; at = Object.getPrototypeOf(at)) {
      for (const name of Object.getOwnPropertyNames(at)) names.add(name);
    }
    for (const name of names) {
      if (/^(_|constructor$)/.test(name)) continue;
      const kind = typeof (object as Any)[name];
      const use = uses.get(name) ?? { values: new Set(), methods: new Set() };
      uses.set(name, use);
      if (kind === 'function') use.methods.add(object.constructor.name);
      if (kind === 'number' || kind === 'boolean') use.values.add(object.constructor.name);
    }
  }
  const both = [...uses].filter(([, { values, methods }]) => values.size > 0 && methods.size > 0);
  expect(both).toEqual([]);
  expect([uses.has('waiting'), uses.has('shutdown')]).toEqual([true, true]);
});
