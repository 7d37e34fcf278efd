/** What a task throws arrives as it was thrown, and what cannot be carried out says why. */
import { expect, test } from 'vitest';
import { inNode, open, reasonOf } from '../../tests/pool/pools.js';

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
  expect(error.stack).toContain('out of range');
  // Where it was thrown, in the thread.
  if (inNode) expect(error.stack).toMatch(/pool\.mjs:\d+/);
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

test.skipIf(!('captureStackTrace' in Error))('the stack tells who awaits the task', async () => {
  const { pool } = await open();
  async function whoAwaits(): Promise<unknown> {
    return await pool.run('throws.error');
  }
  const { stack } = (await reasonOf(whoAwaits())) as Error;
  const [there, here] = (stack as string).split('-- called by --');
  expect(there).toContain('out of range');
  expect(here).toContain('whoAwaits');
});
