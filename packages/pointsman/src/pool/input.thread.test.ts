/** What cannot be used is refused at once, by a message that names it. */
import { describe, expect, test } from 'vitest';
import { open } from '../../tests/pool/pools.js';
import { Pool, serve } from './index.js';

const worker = () => {
  throw new Error('no thread is started');
};
const longest = 2 ** 31 - 1;

describe('options of a pool', () => {
  test.each<[unknown, string]>([
    [null, 'TypeError: options must be an object, got null'],
    ['a', 'TypeError: options must be an object, got "a"'],
    [{ module: './a.js' }, 'TypeError: module must be a URL, as of .*, got "./a.js"'],
    [{ module: 5 }, 'TypeError: module must be a URL, as of .*, got 5'],
    [{ worker: 'a.js' }, 'TypeError: worker must be a function that makes a Worker, got "a.js"'],
    [
      { worker, module: 'file:///a.js' },
      'TypeError: module must be absent if there is a worker, got "file:///a.js"',
    ],
    [{ worker, threads: 0 }, 'RangeError: threads must be an integer from 1 to 1024, got 0'],
    [{ worker, threads: 1025 }, 'RangeError: threads must be an integer from 1 to 1024, got 1025'],
    [{ worker, threads: '2' }, 'TypeError: threads must be an integer from 1 to 1024, got "2"'],
    [
      { worker, minThreads: -1 },
      'RangeError: minThreads must be an integer from 0 to 1024, got -1',
    ],
    [
      { worker, threads: 2, minThreads: 3 },
      'RangeError: minThreads must be an integer from 0 to 2, got 3',
    ],
    [
      { worker, idleTimeout: -1 },
      `RangeError: idleTimeout must be an integer from 0 to ${longest}, got -1`,
    ],
    [
      { worker, maxWaiting: 1.5 },
      'RangeError: maxWaiting must be an integer >= 0 or Infinity, got 1.5',
    ],
    [
      { worker, whenFull: 'drop' },
      'TypeError: whenFull must be one of reject, drop-oldest, got "drop"',
    ],
    [{ worker, ageing: 0 }, 'RangeError: ageing must be an integer >= 1 or Infinity, got 0'],
    [{ worker, grace: NaN }, `RangeError: grace must be an integer from 0 to ${longest}, got NaN`],
    [{ worker, env: 'A=1' }, 'TypeError: env must be an object, or SHARE_ENV, got "A=1"'],
    [{ worker, argv: 'a' }, 'TypeError: argv must be an array, got "a"'],
    [{ worker, execArgv: 5 }, 'TypeError: execArgv must be an array of texts, got 5'],
    [{ worker, onError: 'log' }, 'TypeError: onError must be a function, got "log"'],
    [{ worker, nice: 20 }, 'RangeError: nice must be an integer from 0 to 19, got 20'],
    [{ worker, recycle: 5 }, 'TypeError: recycle must be an object, got 5'],
    [{ worker, recycle: [] }, 'TypeError: recycle must be an object, got Array'],
    [
      { worker, recycle: { bytes: 1 } },
      'TypeError: recycle has "bytes", expected only tasks, heap, age',
    ],
    [
      { worker, maxThreads: 2 },
      'TypeError: options has "maxThreads", expected only module, worker, threads, minThreads, idleTimeout, maxWaiting, whenFull, ageing, grace, nice, recycle, resourceLimits, env, argv, execArgv, workerData, onError, name',
    ],
    [[], 'TypeError: options must be an object, got Array'],
    [
      { worker, recycle: { tasks: 0 } },
      `RangeError: recycle.tasks must be an integer from 1 to ${longest}, got 0`,
    ],
    [
      { worker, recycle: { heap: 0 } },
      `RangeError: recycle.heap must be an integer from 1 to ${Number.MAX_SAFE_INTEGER}, got 0`,
    ],
    [
      { worker, recycle: { age: '1' } },
      `TypeError: recycle.age must be an integer from 1 to ${longest}, got "1"`,
    ],
    ...(['resourceLimits', 'env', 'argv', 'execArgv', 'workerData'] as const).map(
      (name): [unknown, string] => [
        { worker, [name]: [] },
        `TypeError: ${name} must be absent if there is a worker, got Array`,
      ],
    ),
    [{ worker, resourceLimits: 5 }, 'TypeError: resourceLimits must be an object, got 5'],
    [{ worker, name: 5 }, 'TypeError: name must be a string, got 5'],
  ])('%j', (options, message) => {
    expect(() => new Pool(options as never)).toThrow();
    try {
      new Pool(options as never);
    } catch (error) {
      if (message.includes('.*')) expect(String(error)).toMatch(new RegExp(`^${message}$`));
      else expect(String(error)).toBe(message);
    }
  });

  test('what is undefined is as if it were not there', () => {
    new Pool({
      worker,
      module: undefined,
      threads: undefined,
      minThreads: undefined,
      idleTimeout: undefined,
      maxWaiting: undefined,
      whenFull: undefined,
      ageing: undefined,
      grace: undefined,
      nice: undefined,
      recycle: undefined,
      resourceLimits: undefined,
      name: undefined,
    });
    new Pool({
      worker,
      maxWaiting: Number.POSITIVE_INFINITY,
      ageing: Number.POSITIVE_INFINITY,
      recycle: { tasks: undefined, heap: undefined, age: undefined },
    });
    new Pool();
    new Pool({ module: 'file:///a.js' });
    new Pool({ module: new URL('file:///a.js') });
  });
});

const options: readonly (readonly [unknown, string])[] = [
  [5, 'TypeError: options must be an object, got 5'],
  [{ signal: {} }, 'TypeError: signal must be an AbortSignal, got object'],
  [null, 'TypeError: options must be an object, got null'],
  [[], 'TypeError: options must be an object, got Array'],
  [new Map(), 'TypeError: options must be an object, got Map'],
  [new AbortController().signal, 'TypeError: options must be an object, got AbortSignal'],
  [{ timeout: -1 }, 'RangeError: timeout must be a number of milliseconds >= 0, got -1'],
  [{ timeout: NaN }, 'RangeError: timeout must be a number of milliseconds >= 0, got NaN'],
  [{ timeout: '1' }, 'TypeError: timeout must be a number of milliseconds >= 0, got "1"'],
];
const runNames = 'signal, timeout, runTimeout, priority, key, transfer, onProgress';
const runOptions: typeof options = [
  ...options,
  [{ priority: Number.NaN }, 'RangeError: priority must be a finite number, got NaN'],
  [{ priority: '1' }, 'TypeError: priority must be a finite number, got "1"'],
  [
    { transfer: new ArrayBuffer(1) },
    'TypeError: transfer must be an array of what is moved, got ArrayBuffer',
  ],
  [{ runTimeout: -1 }, 'RangeError: runTimeout must be a number of milliseconds >= 0, got -1'],
  [{ runTimeout: '1' }, 'TypeError: runTimeout must be a number of milliseconds >= 0, got "1"'],
  [{ onProgress: 5 }, 'TypeError: onProgress must be a function, got 5'],
];

describe('run: rejects, and throws nothing', () => {
  test.each([
    ...runOptions,
    [
      { transferList: [] },
      `TypeError: options has "transferList", expected only ${runNames}`,
    ] as const,
  ])('options %j', async (options, message) => {
    const { pool } = await open();
    const refused = pool.run('echo', [1], options as never);
    expect(String(await refused.catch((error: unknown) => error))).toBe(message);
    expect([pool.threads, pool.waiting]).toEqual([0, 0]);
  });

  test.each<[unknown, unknown, string]>([
    [5, [], 'TypeError: fn must be the name of a function, or inline(function), got 5'],
    [
      undefined,
      [],
      'TypeError: fn must be the name of a function, or inline(function), got undefined',
    ],
    [
      () => 1,
      [],
      'TypeError: fn must be the name of a function, or inline(function), got function',
    ],
    ['echo', 'a', 'TypeError: args must be an array of arguments, got "a"'],
    ['echo', null, 'TypeError: args must be an array of arguments, got null'],
    ['echo', { length: 1 }, 'TypeError: args must be an array of arguments, got object'],
  ])('%s with %j', async (fn, args, message) => {
    const { pool } = await open();
    const refused = pool.run(fn as never, args as never);
    expect(String(await refused.catch((error: unknown) => error))).toBe(message);
    expect(pool.threads).toBe(0);
  });
});

describe('map', () => {
  test.each<[unknown, unknown, string]>([
    [5, {}, 'TypeError: inputs must be an iterable or an async iterable, got 5'],
    [undefined, {}, 'TypeError: inputs must be an iterable or an async iterable, got undefined'],
    [{}, {}, 'TypeError: inputs must be an iterable or an async iterable, got object'],
    [
      [1],
      { concurrency: 0 },
      `RangeError: concurrency must be an integer from 1 to ${longest}, got 0`,
    ],
    [
      [1],
      { concurrency: '1' },
      `TypeError: concurrency must be an integer from 1 to ${longest}, got "1"`,
    ],
    [[1], { batch: 5 }, `TypeError: options has "batch", expected only ${runNames}, concurrency`],
    ...runOptions.map(
      ([options, message]) => [[1], options, message] as [unknown, unknown, string],
    ),
  ])('%j with %j', async (inputs, options, message) => {
    const { pool } = await open();
    const read = async () => {
      for await (const _ of pool.map('echo', inputs as never, options as never)) break;
    };
    expect(String(await read().catch((error: unknown) => error))).toBe(message);
    expect(pool.threads).toBe(0);
  });
});

test.each([
  ...options,
  [{ priority: 1 }, 'TypeError: options has "priority", expected only signal, timeout'] as const,
])('waitForSpace, drain, shutdown: options %j', async (options, message) => {
  const { pool } = await open();
  for (const method of ['waitForSpace', 'drain', 'shutdown'] as const) {
    const refused = pool[method](options as never);
    expect(String(await refused.catch((error: unknown) => error))).toBe(message);
  }
  expect(pool.closed).toBe(false);
});

test.each<[unknown, string]>([
  [undefined, 'TypeError: functions must be an object of functions, got undefined'],
  [5, 'TypeError: functions must be an object of functions, got 5'],
  [[], 'TypeError: functions must be an object of functions, got Array'],
])('serve(%j)', (functions, message) => {
  let error: unknown;
  try {
    serve(functions as never);
  } catch (thrown) {
    error = thrown;
  }
  expect(String(error)).toBe(message);
});

test('serve where there is no pool', () => {
  expect(() => serve({ echo: () => 1 })).toThrow(
    /serve must be called in a worker thread of a pool/,
  );
});
