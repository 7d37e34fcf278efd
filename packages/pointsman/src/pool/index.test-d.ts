/** The types of the entry, as those who import it see them. */
import { Worker as NodeWorker } from 'node:worker_threads';
import { describe, expectTypeOf, test } from 'vitest';
import type * as entry from './index.js';
import {
  type MapOptions,
  Pool,
  type PoolMetrics,
  type PoolOptions,
  type RunOptions,
  type Summary,
  type TaskContext,
  type TerminableWorker,
  task,
  transfer,
} from './index.js';
import { inline } from './inline.js';

class Service {
  readonly parent: Service = this;
  get(key: string): number {
    return key.length;
  }
}

class Tagged {
  readonly [Symbol.toStringTag] = 'Tagged';
  get(key: string): number {
    return key.length;
  }
}

class Images {
  readonly count = 0;
  static resize(width: number): number {
    return width;
  }
}

const api = {
  hash: (text: string, cost: number) => text.length * cost,
  later: async (text: string) => text.length,
  optional: (a: number, b?: string) => b ?? a,
  nothing() {},
  *numbers(to: number) {
    yield to;
  },
  async *texts() {
    yield 'a';
  },
  laterNumbers: async () => [1, 2][Symbol.iterator](),
  array: () => [1, 2],
  moved: (size: number) => transfer(new ArrayBuffer(size), []),
  take: (buffer: ArrayBuffer) => buffer.byteLength,
  call: async (ask: (n: number) => Promise<string>) => ask(1),
  inner: { deeper: { who: () => 'me' }, flag: true },
  constant: 5,
  service: new Service(),
  Images,
  withMore: Object.assign((n: number) => n, {
    more: (text: string) => text,
    inner: { who: (): string => 'me' },
  }),
  tagged: new Tagged(),
  list: ['a'],
  table: new Map<string, string>(),
  rest: (...numbers: number[]) => numbers.length,
};
type Api = typeof api;

declare const pool: Pool<Api>;
declare const any: Pool;
declare const modules: Pool<{ entry: typeof entry }>;
declare const common: Pool<typeof api.withMore>;

test('the entry has these values, and no others', () => {
  expectTypeOf<keyof typeof entry>().toEqualTypeOf<
    | 'Pool'
    | 'ClosedError'
    | 'TimeoutError'
    | 'PoolClosedError'
    | 'QueueFullError'
    | 'ThreadEndedError'
    | 'serve'
    | 'task'
    | 'transfer'
  >();
});

describe('options', () => {
  test('of a pool', () => {
    expectTypeOf<keyof PoolOptions>().toEqualTypeOf<
      | 'module'
      | 'worker'
      | 'threads'
      | 'minThreads'
      | 'idleTimeout'
      | 'maxWaiting'
      | 'whenFull'
      | 'ageing'
      | 'grace'
      | 'nice'
      | 'recycle'
      | 'resourceLimits'
      | 'env'
      | 'argv'
      | 'execArgv'
      | 'workerData'
      | 'onError'
      | 'name'
    >();
    new Pool<Api>({ module: new URL('file:///a.js') });
    new Pool<Api>({ worker: () => new Worker('a.js') });
    new Pool<Api>({ worker: () => new NodeWorker('a.js') });
    expectTypeOf<TerminableWorker>().toHaveProperty('terminate');
    // @ts-expect-error a port cannot be ended
    new Pool<Api>({ worker: () => new MessageChannel().port1 });
    // @ts-expect-error not a way
    new Pool({ module: 'file:///a.js', whenFull: 'drop' });
    // @ts-expect-error not an option
    new Pool({ module: 'file:///a.js', size: 5 });
  });

  test('of a task', () => {
    expectTypeOf<keyof RunOptions>().toEqualTypeOf<
      'signal' | 'timeout' | 'runTimeout' | 'priority' | 'key' | 'transfer' | 'onProgress'
    >();
    expectTypeOf<keyof MapOptions>().toEqualTypeOf<keyof RunOptions | 'concurrency'>();
    void pool.run('nothing', [], { onProgress: (value: number) => value });
    void pool.run('nothing', [], {
      onProgress: (value) => expectTypeOf(value).toEqualTypeOf<unknown>(),
    });
    const absent = { signal: undefined, timeout: undefined, priority: undefined };
    void pool.run('nothing', [], { ...absent, transfer: undefined, onProgress: undefined });
    void pool.shutdown({ timeout: undefined, signal: undefined });
  });
});

describe('run', () => {
  test('knows arguments and results by name', () => {
    expectTypeOf(pool.run('hash', ['a', 1])).toEqualTypeOf<Promise<number>>();
    expectTypeOf(pool.run('later', ['a'])).toEqualTypeOf<Promise<number>>();
    expectTypeOf(pool.run('optional', [1])).toEqualTypeOf<Promise<string | number>>();
    expectTypeOf(pool.run('nothing')).toEqualTypeOf<Promise<void>>();
    expectTypeOf(pool.run('inner.deeper.who')).toEqualTypeOf<Promise<string>>();
    expectTypeOf(pool.run('array')).toEqualTypeOf<Promise<number[]>>();
    // @ts-expect-error too few
    pool.run('hash', ['a']);
    // @ts-expect-error a wrong one
    pool.run('hash', ['a', 'b']);
    // @ts-expect-error it needs arguments
    pool.run('hash');
    // @ts-expect-error it needs arguments, with any options
    pool.run('hash', undefined, { timeout: 1 });
    // @ts-expect-error it needs one
    pool.run('hash', []);
    expectTypeOf(pool.run('rest')).toEqualTypeOf<Promise<number>>();
    expectTypeOf(pool.run('nothing', undefined, { timeout: 1 })).toEqualTypeOf<Promise<void>>();
    // @ts-expect-error not there
    pool.run('missing');
    // @ts-expect-error no function
    pool.run('constant');
    // @ts-expect-error no function
    pool.run('inner.flag');
    // @ts-expect-error an object of functions
    pool.run('inner.deeper');
    // @ts-expect-error an array has no functions of a module
    pool.run('list.indexOf', ['a']);
    // @ts-expect-error nor has a Map
    pool.run('table.get', ['a']);
    // @ts-expect-error nor what looks like an object of the platform
    pool.run('tagged.get', ['a']);
  });

  test('knows methods, and what functions have', () => {
    expectTypeOf(pool.run('service.get', ['a'])).toEqualTypeOf<Promise<number>>();
    expectTypeOf(pool.run('Images.resize', [1])).toEqualTypeOf<Promise<number>>();
    expectTypeOf(pool.run('withMore', [1])).toEqualTypeOf<Promise<number>>();
    expectTypeOf(pool.run('withMore.more', ['a'])).toEqualTypeOf<Promise<string>>();
    expectTypeOf(pool.run('withMore.inner.who')).toEqualTypeOf<Promise<string>>();
    expectTypeOf(pool.proxy.withMore.more('a')).toEqualTypeOf<Promise<string>>();
    expectTypeOf(pool.proxy.withMore(1)).toEqualTypeOf<Promise<number>>();
    // @ts-expect-error a class cannot be called
    pool.run('Images', []);
  });

  test('knows the functions of a namespace', () => {
    expectTypeOf(modules.run('entry.serve', [{}])).toEqualTypeOf<Promise<void>>();
    // What a module of CommonJS is, if it is a function.
    expectTypeOf(common.run('default', [1])).toEqualTypeOf<Promise<number>>();
    expectTypeOf(common.run('more', ['a'])).toEqualTypeOf<Promise<string>>();
    // @ts-expect-error no part of a module
    modules.run('entry.Pool.prototype.close');
  });

  test('generators give asynchronous iterators', () => {
    expectTypeOf(pool.run('numbers', [1])).toEqualTypeOf<Promise<AsyncIterableIterator<number>>>();
    expectTypeOf(pool.run('texts')).toEqualTypeOf<Promise<AsyncIterableIterator<string>>>();
    expectTypeOf(pool.run('laterNumbers')).toEqualTypeOf<Promise<AsyncIterableIterator<number>>>();
  });

  test('what moves is as if it were copied, and a callback need not be asynchronous', () => {
    expectTypeOf(pool.run('moved', [1])).toEqualTypeOf<Promise<ArrayBuffer>>();
    const buffer = new ArrayBuffer(1);
    expectTypeOf(pool.run('take', [transfer(buffer, [buffer])])).toEqualTypeOf<Promise<number>>();
    expectTypeOf(pool.run('call', [(n) => String(n)])).toEqualTypeOf<Promise<string>>();
  });

  test('functions written in place', () => {
    const scale = inline((n: number, by: string) => `${n}${by}`);
    expectTypeOf(pool.run(scale, [1, 'a'])).toEqualTypeOf<Promise<string>>();
    const count = inline(function* (to: number) {
      yield to;
    });
    expectTypeOf(pool.run(count, [1])).toEqualTypeOf<Promise<AsyncIterableIterator<number>>>();
    // @ts-expect-error a wrong one
    pool.run(scale, ['a', 1]);
    // @ts-expect-error not by inline
    pool.run((n: number) => n, [1]);
  });

  test('of a pool of which nothing is known', () => {
    expectTypeOf(any.run('whatever', [1, 'a'])).toEqualTypeOf<Promise<unknown>>();
  });
});

test('a proxy has the functions alone', () => {
  expectTypeOf(pool.proxy.hash('a', 1)).toEqualTypeOf<Promise<number>>();
  expectTypeOf(pool.proxy.inner.deeper.who()).toEqualTypeOf<Promise<string>>();
  expectTypeOf(pool.proxy.numbers(1)).toEqualTypeOf<Promise<AsyncIterableIterator<number>>>();
  // @ts-expect-error a wrong one
  pool.proxy.hash('a', 'b');
  // @ts-expect-error no function
  pool.proxy.constant;
  // @ts-expect-error not there
  pool.proxy.missing();
  // @ts-expect-error an array has no functions of a module
  pool.proxy.list;
  // @ts-expect-error nor has a Map
  pool.proxy.table;
  // @ts-expect-error nor what looks like an object of the platform
  pool.proxy.tagged;
  // @ts-expect-error no part of a module
  pool.proxy.Images.prototype;
});

test('map takes the first argument of each task', () => {
  expectTypeOf(pool.map('later', ['a'])).toEqualTypeOf<AsyncIterableIterator<number>>();
  expectTypeOf(pool.map('later', new Set(['a']))).toEqualTypeOf<AsyncIterableIterator<number>>();
  expectTypeOf(
    pool.map(
      inline((n: number) => `${n}`),
      [1],
    ),
  ).toEqualTypeOf<AsyncIterableIterator<string>>();
  // @ts-expect-error a wrong one
  pool.map('later', [1]);
  // @ts-expect-error it needs another argument
  pool.map('hash', ['a']);
  expectTypeOf(pool.map('optional', [1])).toEqualTypeOf<AsyncIterableIterator<string | number>>();
});

test('the rest', () => {
  expectTypeOf(pool.waitForSpace({ timeout: 1 })).toEqualTypeOf<Promise<void>>();
  expectTypeOf(pool.close()).toEqualTypeOf<Promise<void>>();
  expectTypeOf(pool.close('any reason')).toEqualTypeOf<Promise<void>>();
  expectTypeOf(pool.drain({ timeout: 1 })).toEqualTypeOf<Promise<void>>();
  expectTypeOf(pool.shutdown({ timeout: 1 })).toEqualTypeOf<Promise<void>>();
  expectTypeOf(pool.terminate('any reason')).toEqualTypeOf<Promise<void>>();
  expectTypeOf(pool.closed).toEqualTypeOf<boolean>();
  expectTypeOf(pool).toExtend<AsyncDisposable>();
  expectTypeOf(pool.waiting).toEqualTypeOf<number>();
  expectTypeOf(pool.metrics).toEqualTypeOf<PoolMetrics>();
  expectTypeOf<PoolMetrics['runTime']>().toEqualTypeOf<Summary>();
  expectTypeOf(task).toEqualTypeOf<TaskContext>();
  expectTypeOf(task.signal).toEqualTypeOf<AbortSignal>();
  expectTypeOf(task.deadline).toEqualTypeOf<number | undefined>();
  // @ts-expect-error read only
  pool.waiting = 1;
});
