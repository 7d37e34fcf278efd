/** Threads of Node that load a module by themselves, as the package is built. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { inline, Pool, type PoolOptions, ThreadEndedError } from 'pointsman/pool';
import { describe, expect, onTestFinished, test } from 'vitest';

const fixture = (name: string) => new URL(`../../tests/pool/fixtures/${name}.mjs`, import.meta.url);

function open(options: PoolOptions = {}): Pool {
  const pool = new Pool({ module: fixture('module'), threads: 1, ...options });
  onTestFinished(() => pool.terminate());
  return pool;
}

const reasonOf = (promise: Promise<unknown>) =>
  promise.then(
    (value) => expect.unreachable(`there is ${value}`),
    (error: unknown) => error,
  );

test('its functions, nested, and the default', async () => {
  const pool = open();
  expect(await pool.run('echo', [{ a: 1 }])).toEqual({ a: 1 });
  expect(await pool.run('inner.who')).toBe('inner');
  expect(await pool.run('default')).toBe('the default');
  const heard: unknown[] = [];
  expect(await pool.run('progress', [2], { onProgress: (value) => heard.push(value) })).toBe(
    'progress',
  );
  expect(heard).toEqual([0, 1]);
});

describe('a value that the receiving thread cannot read fails only its own task', () => {
  const nested = (levels: number) => {
    let value: unknown[] = [];
    for (let level = 1; level < levels; level++) value = [value];
    return value;
  };

  test('an argument', async () => {
    // The stack is too small to read a value of this depth.
    const pool = open({ resourceLimits: { stackSizeMb: 0.4 } });
    await pool.run('echo', [1]);
    const others = Array.from({ length: 20 }, (_, n) => pool.run('echo', [n]));
    const unreadable = pool.run('isDeep', [nested(900)]);
    const more = Array.from({ length: 20 }, (_, n) => pool.run('echo', [n]));
    expect(await reasonOf(unreadable)).toMatchObject({
      name: 'DataCloneError',
      message: expect.stringContaining('cannot be read in this thread'),
    });
    expect(await Promise.all(others)).toEqual(Array.from({ length: 20 }, (_, n) => n));
    expect(await Promise.all(more)).toEqual(Array.from({ length: 20 }, (_, n) => n));
    expect(pool.metrics).toMatchObject({ threadsStarted: 1, failed: 1 });
  });
});

test('its URL as text', async () => {
  const pool = open({ module: String(fixture('module')) });
  expect(await pool.run('echo', [1])).toBe(1);
});

test('without a module, what is written in place', async () => {
  const pool = open({ module: undefined });
  expect(
    await pool.run(
      inline((n: number) => n + 1),
      [1],
    ),
  ).toBe(2);
  expect(String(await reasonOf(pool.run('echo')))).toMatch(/^TypeError: name must be .*got "echo"/);
});

describe('a module of CommonJS', () => {
  const openCommon = (name: string) =>
    open({ module: new URL(`../../tests/pool/fixtures/${name}.cjs`, import.meta.url) });

  test('its functions', async () => {
    const pool = openCommon('common');
    expect(await pool.run('double', [2])).toBe(4);
    expect(await pool.run('default.double', [3])).toBe(6);
    expect(await pool.run('inner.who')).toBe('inner');
  });

  test('that is a function', async () => {
    const pool = openCommon('function');
    expect(await pool.run('default', [2])).toBe(3);
    expect(await pool.run('double', [2])).toBe(4);
    expect(await pool.run('default.double', [2])).toBe(4);
    expect(await pool.run('inner.who')).toBe('inner');
  });

  test('that was compiled', async () => {
    const pool = openCommon('compiled');
    expect(await pool.run('default', [2])).toBe(3);
    expect(await pool.run('double', [2])).toBe(4);
  });
});

test('bundlers leave the loading of a module alone', async () => {
  const text = await readFile(new URL('../../dist/pool-thread.js', import.meta.url), 'utf8');
  expect(text).toMatch(
    /await import\(\s*\/\* webpackIgnore: true \*\/\s*\/\* @vite-ignore \*\/\s*module\s*\)/,
  );
});

describe('a module that cannot be used', () => {
  test('it has an error of syntax', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'pointsman-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const module = pathToFileURL(join(folder, 'broken.mjs'));
    await writeFile(module, 'export const five = 5;\nexport const = 6;\n');
    const error = await reasonOf(open({ module }).run('echo'));
    expect(error).toMatchObject({
      message: `no thread can be started: a thread could not load ${module}: Unexpected token '='`,
      cause: { name: 'SyntaxError' },
    });
  });

  test('it is not there', async () => {
    const pool = open({ module: fixture('nothing') });
    const outcomes = [pool.run('echo'), pool.run('echo')].map(reasonOf);
    for (const error of await Promise.all(outcomes)) {
      expect(error).toBeInstanceOf(ThreadEndedError);
      expect(error).toMatchObject({
        message: expect.stringMatching(/^no thread can be started: .*file:.*nothing\.mjs: Cannot/),
        cause: { message: expect.stringMatching(/^Cannot find module .*nothing\.mjs/) },
      });
    }
    await pool.close();
  });

  test('it throws', async () => {
    const pool = open({ module: fixture('failing'), threads: 2 });
    const error = await reasonOf(pool.run('echo'));
    expect(error).toBeInstanceOf(ThreadEndedError);
    expect(error).toMatchObject({
      message: `no thread can be started: a thread could not load ${fixture('failing')}: not today`,
      cause: { name: 'RangeError', message: 'not today' },
    });
    await pool.close();
  });

  test('it has no functions', async () => {
    const pool = open({ module: fixture('empty') });
    expect(String(await reasonOf(pool.run('constant')))).toBe(
      'TypeError: name must be a function of the module, which has none, got "constant"',
    );
  });
});

test('its threads are started with what the pool says', async () => {
  const pool = open({
    env: { POINTSMAN_TEST: 'yes' },
    argv: ['first', 2],
    execArgv: ['--no-warnings'],
    workerData: { shared: [1] },
  });
  expect(await pool.run('startedWith')).toEqual({
    env: 'yes',
    argv: ['first', '2'],
    execArgv: ['--no-warnings'],
    workerData: { shared: [1] },
  });
});

test('onError hears what fails outside of a task, and the thread is replaced', async () => {
  let heard!: (error: unknown) => void;
  const error = new Promise((resolve) => {
    heard = resolve;
  });
  const pool = open({ onError: heard });
  await pool.run('failLater');
  expect(await error).toMatchObject({ name: 'Error', message: 'outside of any task' });
  expect(await pool.run('echo', [1])).toBe(1);
  expect(pool.metrics).toMatchObject({ threadsStarted: 2, failed: 0 });
});

test('resourceLimits hold: the task is lost, and no other', async () => {
  const pool = open({ resourceLimits: { maxOldGenerationSizeMb: 24 } });
  const lost = reasonOf(pool.run('outOfMemory'));
  const others = [1, 2, 3].map((n) => pool.run('echo', [n]));
  expect(await lost).toMatchObject({
    name: 'ThreadEndedError',
    message: expect.stringMatching(/^the thread that ran outOfMemory\(\) has ended/),
    cause: { code: 'ERR_WORKER_OUT_OF_MEMORY' },
  });
  expect(await Promise.all(others)).toEqual([1, 2, 3]);
});

test('shared memory that is an argument stays shared', async () => {
  const pool = open();
  const words = new Int32Array(new SharedArrayBuffer(4));
  const add = inline((words: Int32Array) => Atomics.add(words, 0, 1));
  await Promise.all([1, 2, 3].map(() => pool.run(add, [words])));
  expect(words[0]).toBe(3);
});

describe('a program', () => {
  const run = async (name: string) => {
    const path = fileURLToPath(fixture(name));
    const { stdout } = await promisify(execFile)(process.execPath, [path], { timeout: 15_000 });
    return stdout.trim();
  };

  test('gets a clear error from inline where code generation is forbidden', async () => {
    const code = `
      import { inline } from 'pointsman/pool';
      try { inline(() => 1); } catch (error) { console.log(String(error)); }
    `;
    const flags = [
      '--disallow-code-generation-from-strings',
      '--input-type=module',
      '--eval',
      code,
    ];
    const cwd = fileURLToPath(new URL('.', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, flags, { cwd });
    expect(stdout).toBe('EvalError: Code generation from strings disallowed for this context\n');
  });

  test('is not kept alive by a pool that has nothing to do', async () => {
    expect(await run('idle')).toBe('idle');
  }, 20_000);

  test('is kept alive by a task', async () => {
    expect(await run('busy')).toBe('busy');
  }, 20_000);

  test('is kept alive by what a task has returned, while that is being asked', async () => {
    expect(await run('called')).toBe('42\nleft');
  }, 20_000);

  test('without shared memory has the same, one task at a time for each thread', async () => {
    const lines = (await run('unshared')).split('\n').map((line) => JSON.parse(line));
    expect(Object.fromEntries(lines)).toEqual({
      values: Array.from({ length: 50 }, (_, n) => n),
      progress: [0, 1, 2, 'progress'],
      stream: Array.from({ length: 20 }, (_, n) => n),
      'at a time': 1,
      abort: { name: 'RangeError', message: 'enough' },
      after: 'fine',
      threads: 1,
      others: [0, 1, 2, 3, 4, 5, 6, 7, 8],
      killed: { name: 'TimeoutError', message: 'loop() has run for 100 ms' },
      exit: {
        name: 'ThreadEndedError',
        message: 'the thread that ran exit() has ended with code 3',
      },
      moved: 1_000,
      uncloneable: { name: 'DataCloneError', message: expect.any(String) },
      closed: 0,
    });
  }, 20_000);
});

test('a context that a task enters is not that of the next task', async () => {
  const source = `
    import { AsyncLocalStorage } from 'node:async_hooks';
    const storage = new AsyncLocalStorage();
    export const enter = (request) => storage.enterWith(request);
    export const enterLater = async (request) => {
      await undefined;
      storage.enterWith(request);
      await undefined;
      return storage.getStore();
    };
    export const get = () => storage.getStore();`;
  const pool = open({ module: `data:text/javascript;base64,${btoa(source)}` });
  const names = ['enter', 'get', 'enterLater', 'get'];
  const seen = await Promise.all(names.map((name) => pool.run(name, [name])));
  expect([...seen, await pool.run('get')]).toEqual([
    undefined,
    undefined,
    'enterLater',
    undefined,
    undefined,
  ]);
});
