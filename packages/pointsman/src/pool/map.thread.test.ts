/** Results arrive in input order, a bounded number of tasks runs at once, and nothing is left when the map ends. */
import { expect, test } from 'vitest';
import { collect, open, openWarm, range, reasonOf, until } from '../../tests/pool/pools.js';
import { ThreadEndedError } from './index.js';
import { inline } from './inline.js';

/** Inputs that say how many were taken, and whether they were left. */
function inputs(count: number) {
  const about = { taken: 0, left: false };
  function* generate() {
    try {
      for (let n = 0; n < count; n++) {
        about.taken++;
        yield n;
      }
    } finally {
      about.left = true;
    }
  }
  return { about, source: generate() };
}

test('results are in order, in any order of completion', async () => {
  const { pool } = await open({ threads: 2 });
  const double = inline(async (n: number) => {
    if (n % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 3));
    return 2 * n;
  });
  expect(await collect(pool.map(double, range(60)))).toEqual(range(60).map((n) => 2 * n));
});

test('inputs of every kind', async () => {
  const { pool } = await open();
  expect(await collect(pool.map('echo', []))).toEqual([]);
  expect(await collect(pool.map('echo', new Set(['a', 'b'])))).toEqual(['a', 'b']);
  expect(await collect(pool.map('text.upper', 'ab'))).toEqual(['A', 'B']);
  async function* later() {
    yield* ['c', 'd'];
  }
  expect(await collect(pool.map('echo', later()))).toEqual(['c', 'd']);
  // One input is one argument.
  expect(await collect(pool.map('all', [[1, 2], undefined]))).toEqual([[[1, 2]], [undefined]]);
});

test.each([1, 3])('at most %i are under way or were not read', async (concurrency) => {
  const { pool, board } = await openWarm({ threads: 2 });
  const { about, source } = inputs(30);
  const counting = inline((n: number) => n);
  let read = 0;
  for await (const n of pool.map(counting, source, { concurrency })) {
    expect(n).toBe(read++);
    expect(about.taken).toBeLessThanOrEqual(read + concurrency);
    expect(pool.waiting + pool.running).toBeLessThanOrEqual(concurrency);
    if (read % 10 === 0) await pool.run('count', [board.take()]);
  }
  expect([read, about.taken, about.left]).toEqual([30, 30, true]);
});

test('by default as many as twice the threads', async () => {
  const { pool, board } = await openWarm({ threads: 2 });
  const gate = board.gate();
  const { about, source } = inputs(30);
  const results = pool.map(
    'hold',
    (function* () {
      for (const _ of source) yield gate.number;
    })(),
  );
  const first = results.next();
  await until(() => gate.begun === 2);
  expect([about.taken, pool.waiting + pool.running]).toEqual([4, 4]);
  gate.open();
  await first;
  await collect(results);
});

test('nothing begins before the first read', async () => {
  const { pool } = await open();
  const { about, source } = inputs(3);
  const results = pool.map('echo', source);
  expect([about.taken, pool.threads]).toEqual([0, 0]);
  await results.return?.();
  expect(about.taken).toBe(0);
});

test('a result is not kept until the next input comes', async () => {
  const { pool } = await open();
  let next!: () => void;
  async function* questions() {
    yield 1;
    // The test asks for the second input once it has read the first result.
    await new Promise<void>((resolve) => {
      next = resolve;
    });
    yield 2;
  }
  const heard: unknown[] = [];
  for await (const answer of pool.map('echo', questions())) {
    heard.push(answer);
    next();
  }
  expect(heard).toEqual([1, 2]);
});

test('a failure ends it: what is under way is aborted, and the inputs are left', async () => {
  const { pool } = await openWarm({ threads: 2, grace: 60_000 });
  const { about, source } = inputs(100);
  const task = inline(async (input: { n: number }) => {
    if (input.n === 2) throw new RangeError('not this one');
    return input.n;
  });
  const heard: number[] = [];
  const waiting = pool.run('echo', ['other']);
  const mapping = (async () => {
    const objects = (function* () {
      for (const n of source) yield { n };
    })();
    for await (const n of pool.map(task, objects, { concurrency: 4 })) heard.push(n);
  })();
  expect(await reasonOf(mapping)).toMatchObject({ name: 'RangeError', message: 'not this one' });
  expect(heard).toEqual([0, 1]);
  expect(about.left).toBe(true);
  expect(about.taken).toBeLessThan(8);
  expect(await waiting).toBe('other');
});

test.each(['close', 'abort'] as const)(
  '%s while it waits for space fails it, and nothing else',
  async (end) => {
    const { pool, board } = await openWarm({ maxWaiting: 0 });
    const gate = board.gate();
    const held = pool.run('hold', [gate.number, 'held']);
    await until(() => gate.begun === 1);
    const { about, source } = inputs(2);
    const controller = new AbortController();
    const results = pool.map('echo', source, { signal: controller.signal });
    const first = reasonOf(results.next());
    await until(() => about.taken === 1);
    if (end === 'close') void pool.close('over');
    else controller.abort('over');
    expect(await first).toBe('over');
    gate.open();
    expect(await held).toBe('held');
    expect(about.left).toBe(true);
  },
);

test('leaving the loop aborts what is under way', async () => {
  const { pool, board } = await openWarm({ threads: 2, grace: 60_000 });
  const [open, closed] = [board.gate(), board.gate()];
  open.open();
  const { about, source } = inputs(100);
  const gates = (function* () {
    for (const n of source) yield n === 0 ? open.number : closed.number;
  })();
  for await (const _ of pool.map('holdUnlessAborted', gates, { concurrency: 3 })) {
    await until(() => closed.begun === 2);
    break;
  }
  expect(about.left).toBe(true);
  // Both have heard of it.
  await until(() => pool.waiting + pool.running === 0);
  expect(closed.ended).toBe(2);
  expect(pool.metrics).toMatchObject({ failed: 0, threadsStarted: 2 });
});

test('a signal ends it', async () => {
  const { pool, board } = await openWarm({ threads: 2, grace: 60_000 });
  const gate = board.gate();
  const controller = new AbortController();
  const { about, source } = inputs(100);
  const gates = (function* () {
    for (const _ of source) yield gate.number;
  })();
  const results = pool.map('waitForAbort', gates, { signal: controller.signal, concurrency: 3 });
  const first = reasonOf(results.next());
  await until(() => gate.begun === 2);
  controller.abort('enough');
  expect(await first).toBe('enough');
  await until(() => gate.ended === 2);
  expect(about).toEqual({ taken: 3, left: true });
  expect(await results.next()).toEqual({ done: true, value: undefined });
  expect(pool.metrics).toMatchObject({ cancelled: 3, failed: 0, threadsStarted: 2 });

  const aborted = pool.map('echo', range(3), { signal: AbortSignal.abort('before') });
  expect(await reasonOf(collect(aborted))).toBe('before');
});

test('a signal ends it while it waits for an input', async () => {
  const { pool } = await open();
  const controller = new AbortController();
  const never = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
  const first = reasonOf(pool.map('echo', never, { signal: controller.signal }).next());
  controller.abort('enough');
  expect(await first).toBe('enough');
});

test('inputs that fail end it', async () => {
  const { pool } = await open();
  function* failing() {
    yield 1;
    throw new RangeError('no more inputs');
  }
  const heard: unknown[] = [];
  const mapping = (async () => {
    for await (const value of pool.map('echo', failing())) heard.push(value);
  })();
  await expect(mapping).rejects.toThrow('no more inputs');
  await until(() => pool.waiting + pool.running === 0);
});

test('a thread that ends fails it', async () => {
  const { pool } = await open();
  const codes = [1, 2, 3];
  const exiting = inline(async (code: number) => {
    (globalThis as unknown as { process?: { exit(code: number): void } }).process?.exit(code);
    (globalThis as unknown as { close?(): void }).close?.();
    await new Promise(() => {});
  });
  expect(await reasonOf(collect(pool.map(exiting, codes)))).toBeInstanceOf(ThreadEndedError);
  expect(await pool.run('echo', [1])).toBe(1);
});
