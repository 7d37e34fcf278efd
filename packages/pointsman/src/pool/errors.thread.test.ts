/** What a task throws arrives as it was thrown, and what cannot be carried out says why. */
import { expect, test } from 'vitest';
import { open, openWarm, reasonOf, until } from '../../tests/pool/pools.js';
import { inline } from './inline.js';

/** Those of V8 begin with it, others are frames alone. */
const stacksHaveMessages = new Error('a message').stack?.includes('a message');

/** A line of the threads' script; Deno reads its source map. */
const inScript = /(pool\.mjs|tasks\.ts):\d+/;

test('an error arrives with all that it has', async () => {
  const { pool } = await open();
  const error = (await reasonOf(pool.run('throws.error'))) as RangeError & Record<string, unknown>;
  expect(error).toBeInstanceOf(RangeError);
  expect(error).toMatchObject({
    name: 'RangeError',
    message: 'out of range',
    code: 'E_RANGE',
    details: { at: [1, 2] },
  });
  expect(error.cause).toBeInstanceOf(Error);
  expect((error.cause as Error).message).toBe('the cause');
  if (stacksHaveMessages) expect(error.stack).toContain('out of range');
  // Where it was thrown, in the thread.
  expect(error.stack).toMatch(inScript);
});

test.each([
  ['own', { name: 'OwnError', message: 'of a class of its own' }],
  ['later', { name: 'TypeError', message: 'later' }],
] as const)('thrown by throws.%s', async (name, expected) => {
  const { pool } = await open();
  const error = await reasonOf(pool.run(`throws.${name}`));
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject(expected);
});

test('a property that cannot be passed on is left out and named, and the rest arrives', async () => {
  const { pool } = await open();
  const error = (await reasonOf(pool.run('throws.withSocket'))) as Error;
  expect(error).toBeInstanceOf(TypeError);
  expect({ ...error }).toEqual({
    code: 'E_REQUEST',
    status: 404,
    droppedProperties: ['lazy', 'request', 'tag'],
  });
  expect(error.message).toBe('request failed');
  expect(error.cause).toBeInstanceOf(Error);
  expect(error.cause).toMatchObject({
    message: 'no connection',
    droppedProperties: ['socket'],
  });
});

test('the errors of a pool begin with its name', async () => {
  const { pool, board } = await openWarm({ name: 'images', maxWaiting: 0 });
  const gate = board.gate();
  const looping = reasonOf(pool.run('loop', [gate.number]));
  await until(() => gate.begun === 1);
  const errors = [
    reasonOf(pool.run('echo', [1])),
    reasonOf(pool.waitForSpace({ timeout: 0 })),
    reasonOf(pool.run('echo', [1], { timeout: 0 })),
  ];
  const terminated = pool.terminate();
  errors.push(looping, reasonOf(pool.waitForSpace()));
  expect((await Promise.all(errors)).map((error) => (error as Error).message)).toEqual([
    'images: the queue is full: 0 waiting',
    'images: timed out after 0 ms',
    'images: echo() has not begun within 0 ms',
    'images: the pool was terminated',
    'images: the pool was terminated',
  ]);
  await terminated;
  const other = await openWarm({ name: 'texts' });
  const exit = other.board.gate();
  exit.open();
  const ended = (await reasonOf(other.pool.run('holdAndExit', [exit.number, 1]))) as Error;
  expect(ended.message).toMatch(/^texts: the thread that ran holdAndExit\(\) has ended/);
  await other.pool.close();
  expect(await reasonOf(other.pool.waitForSpace())).toMatchObject({
    message: 'texts: the pool is closed',
  });
});

test('what is no error arrives too', async () => {
  const { pool } = await open();
  await expect(pool.run('throws.text')).rejects.toBe('a text');
  await expect(pool.run('throws.nothing')).rejects.toBeUndefined();
  expect(pool.metrics).toMatchObject({ failed: 2, completed: 0 });
});

test('an argument that cannot be cloned: nothing is begun', async () => {
  const { pool, board } = await open();
  const word = board.take();
  const refused = pool.run('count', [word, Symbol('s')] as never);
  await expect(refused).rejects.toMatchObject({ name: 'DataCloneError' });
  const deep = pool.run('all', [1, { a: [new WeakMap()] }]);
  await expect(deep).rejects.toMatchObject({ name: 'DataCloneError' });
  const progressing = pool.run('all', [Symbol('s')], { onProgress() {} });
  await expect(progressing).rejects.toMatchObject({ name: 'DataCloneError' });
  const moved = pool.run('all', [Symbol('s')], { transfer: [new ArrayBuffer(1)] });
  await expect(moved).rejects.toMatchObject({ name: 'DataCloneError' });
  expect(await pool.run('echo', [1])).toBe(1);
  expect(board.at(word)).toBe(0);
  expect(pool.metrics).toMatchObject({ failed: 4, threadsStarted: 1 });
});

test.each(['uncloneable', 'uncloneableLater'] as const)(
  'a result that cannot be cloned: %s',
  async (name) => {
    const { pool } = await open();
    await expect(pool.run(name)).rejects.toMatchObject({ name: 'DataCloneError' });
    expect(await pool.run('echo', [1])).toBe(1);
    expect(pool.metrics).toMatchObject({ failed: 1, completed: 1, threadsStarted: 1 });
  },
);

test.each(['nothing', 'constant', 'text', 'text.nothing', '', 'toString', 'hasOwnProperty'])(
  'a function that is not there: %j',
  async (name) => {
    const { pool } = await open();
    const error = (await reasonOf(pool.run(name as 'echo', [1]))) as Error;
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toMatch(/^name must be one of .*echo, .*, got /);
    expect(error.message).toContain('text.deeper.lower');
    expect(error.message).toContain(`got ${JSON.stringify(name)}`);
    expect(await pool.run('echo', [1])).toBe(1);
  },
);

test('a result that cannot be cloned is not lost with the task behind it', async () => {
  const { pool } = await openWarm({ grace: 10 });
  for (let n = 0; n < 200; n++) await reasonOf(pool.run('uncloneable'));
  const refused = reasonOf(pool.run('uncloneable'));
  const fine = pool.run('echo', [1]);
  const looping = reasonOf(pool.run('spin', [60_000, 0, 0], { runTimeout: 50 }));
  expect(await looping).toMatchObject({ name: 'TimeoutError' });
  expect(await refused).toMatchObject({ name: 'DataCloneError' });
  expect(await fine).toBe(1);
});

test('an argument whose getter runs another task', async () => {
  const { pool } = await openWarm();
  let inner: Promise<unknown> | undefined;
  const value = {
    get again() {
      inner ??= pool.run('echo', ['inner']);
      return 1;
    },
  };
  expect(await pool.run('echo', [value])).toEqual({ again: 1 });
  expect(await inner).toBe('inner');
});

test('an exception of a class that has its own idea of its properties', async () => {
  class HttpError extends DOMException {
    override readonly code = 404;
  }
  const { pool } = await open();
  expect(await pool.run('echo', [new HttpError('not found')])).toMatchObject({
    code: 404,
    message: 'not found',
  });
  expect(pool.metrics.threadsStarted).toBe(1);
});

test('a result that throws when it is looked at', async () => {
  const { pool } = await open();
  const then = inline(() => ({
    // biome-ignore lint/suspicious/noThenProperty: what looks like a promise and is none.
    get then() {
      throw new RangeError('then');
    },
  }));
  const iterator = inline(() => ({
    [Symbol.asyncIterator]() {
      throw new RangeError('iterator');
    },
  }));
  const buffer = new ArrayBuffer(1);
  const results = [
    reasonOf(pool.run(then)),
    reasonOf(pool.run(iterator)),
    pool.run('size', [buffer], { transfer: [buffer] }),
  ];
  expect(await Promise.all(results)).toMatchObject([
    { message: 'then' },
    { message: 'iterator' },
    1,
  ]);
  expect(pool.metrics).toMatchObject({ threadsStarted: 1, failed: 2 });
});

test('progress that cannot be cloned is thrown where it is said', async () => {
  const { pool } = await open();
  const heard: unknown[] = [];
  expect(await pool.run('progressOfSymbol', [], { onProgress: (value) => heard.push(value) })).toBe(
    'done',
  );
  expect(heard).toEqual(['DataCloneError']);
});

/** Whether the stacks of this engine tell who awaits what was resolved with a promise: those of V8 do. */
async function stacksFollowAwait(): Promise<boolean | undefined> {
  async function inner(): Promise<string | undefined> {
    await undefined;
    await undefined;
    return new Error().stack;
  }
  async function whoAwaits(): Promise<string | undefined> {
    return await new Promise((resolve) => resolve(inner()));
  }
  return (await whoAwaits())?.includes('whoAwaits');
}

test.skipIf(!(await stacksFollowAwait()))('the stack tells who awaits the task', async () => {
  const { pool } = await open();
  async function whoAwaits(): Promise<unknown> {
    return await pool.run('throws.error');
  }
  const { stack } = (await reasonOf(whoAwaits())) as Error;
  const [there, here] = (stack as string).split('-- called by --');
  expect(there).toMatch(inScript);
  expect(here).toContain('whoAwaits');
});
