/**
 * Bad input, for every argument of every method: the error says which argument, what it was and what
 * was expected; a method that returns a promise rejects with it; and nothing has changed.
 */
import { nextMacrotask } from '@pointsman/spec';
import { describe, expect, test, vi } from 'vitest';
import { Semaphore } from '../index.js';
import { argumentsOf, cases, expectRefusal, fn, optionsWith, thrownBy } from './arguments.js';
import { type Holder, holders } from './holders.js';
import { waits, waitsWith } from './waits.js';

/** The values of all its getters, by name. */
function stateOf(object: object): Record<string, unknown> {
  const state: Record<string, unknown> = {};
  let prototype = Object.getPrototypeOf(object);
  for (; prototype !== Object.prototype; prototype = Object.getPrototypeOf(prototype)) {
    for (const [name, { get }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (get) state[name] ??= Reflect.get(object, name);
    }
  }
  return state;
}

/** Every option that a wait or a try of some primitive has. */
const optionNames = [
  ...['signal', 'timeout', 'permits', 'priority', 'owner'],
  ...['key', 'weight', 'runTimeout', 'biased'],
];
const waitNames = ['signal', 'timeout'];

describe.each(Object.entries(waits))('%s', (row, create) => {
  const own = create(1).options ?? [];
  const names = [...waitNames, ...own];
  // The row with an owner passes a copy of the options.
  const copies = row === 'Mutex.lock with an owner';
  const known = argumentsOf(names).filter(([name]) => !(copies && name === 'options'));

  test.each(known)(
    'refuses bad %s while others wait, which keep their places',
    async (_, argument) => {
      const wait = create(3);
      const served: string[] = [];
      const enter = (name: string, options?: object) =>
        wait.start(options).then(() => served.push(name));
      void enter('plain');
      void enter('limited', { signal: new AbortController().signal });
      await nextMacrotask();
      const before = stateOf(wait.object);
      for (const [value, expected] of cases(argument)) {
        const promise = wait.start(optionsWith(argument, value));
        expect(promise).toBeInstanceOf(Promise);
        expect(stateOf(wait.object)).toEqual(before);
        expectRefusal(await promise.catch((error) => error), argument, value, expected);
        expect(stateOf(wait.object)).toEqual(before);
      }
      void enter('last');
      await nextMacrotask();
      wait.serve();
      await nextMacrotask();
      // Waits for a source end in the order of the source.
      expect(row.endsWith('source') ? served.sort().reverse() : served).toEqual([
        'plain',
        'limited',
        'last',
      ]);
    },
  );

  test('refuses an option that it does not have by its name', async () => {
    const wait = create(1);
    const before = stateOf(wait.object);
    const others = [...optionNames, 'time out', 'Signal'].filter((name) => !names.includes(name));
    for (const name of others.filter((name) => !(copies && /owner|priority/.test(name)))) {
      const refusal = expect(wait.start({ [name]: undefined } as never)).rejects;
      await refusal.toThrow(new RegExp(`^options has "${name}", expected only `));
      expect(stateOf(wait.object)).toEqual(before);
    }
  });

  test('reads the options when they are given, each member once', async () => {
    const { start, serve } = create(1);
    const reads: string[] = [];
    const given = new Proxy({} as Record<string, unknown>, {
      get(target, name) {
        reads.push(String(name));
        return target[String(name)];
      },
    });
    const wait = start(given);
    const first = [...reads];
    expect(new Set(first).size).toBe(first.length);
    for (const name of names) given[name] = Number.NaN;
    await nextMacrotask();
    serve();
    await wait;
    expect(reads).toEqual(first);
  });
});

describe.each(waitsWith('free'))('%s, that need not wait,', (row, create) => {
  const own = create(1).options ?? [];
  const names = [...waitNames, ...own];
  const known = argumentsOf(names).filter(
    ([name]) => !(row === 'Mutex.lock with an owner' && name === 'options'),
  );

  test.each(known)('refuses bad %s, and uses up nothing', async (_, argument) => {
    const { object, start, free } = create(1);
    free();
    const before = stateOf(object);
    for (const [value, expected] of cases(argument)) {
      const promise = start(optionsWith(argument, value));
      expect(promise).toBeInstanceOf(Promise);
      expect(stateOf(object)).toEqual(before);
      expectRefusal(await promise.catch((error) => error), argument, value, expected);
      expect(stateOf(object)).toEqual(before);
    }
    await start({ timeout: 0 });
  });

  test('takes options that are empty, and members that are undefined', async () => {
    const nothing = Object.fromEntries(names.map((name) => [name, undefined]));
    for (const given of [undefined, {}, nothing, Object.create(null)]) {
      const { start, free } = create(1);
      free();
      await start(given);
    }
  });
});

/** Checks that the permit is there, once. */
function expectFree({ tries }: Holder): void {
  const permit = tries();
  expect([permit?.released, tries()]).toEqual([false, undefined]);
  permit?.release();
}

const states = ['free', 'taken'] as const;

test.each(Object.entries(holders))('%s: run refuses what is not a function', async (_, create) => {
  const holder = create();
  const free = stateOf(holder.object);
  for (const state of states) {
    const held = state === 'taken' ? holder.tries() : undefined;
    const before = stateOf(holder.object);
    for (const given of [undefined, {}, { timeout: 1_000 }]) {
      for (const [value, expected] of cases(fn)) {
        const promise = holder.run(value as never, given);
        expect(promise).toBeInstanceOf(Promise);
        expectRefusal(await promise.catch((error) => error), fn, value, expected);
        expect(stateOf(holder.object)).toEqual(before);
      }
    }
    held?.release();
  }
  expectFree(holder);
  expect(await holder.run(() => 'result', {})).toBe('result');
  expect(stateOf(create().object)).toEqual(free);
});

const tried = Object.entries(holders).filter(([, create]) => create().tryOptions !== undefined);

describe.each(tried)('%s: the try', (_, create) => {
  const names = create().tryOptions as readonly string[];

  test.each(argumentsOf(names))('refuses bad %s', (_, argument) => {
    const holder = create();
    for (const state of states) {
      const held = state === 'taken' ? holder.tries() : undefined;
      const before = stateOf(holder.object);
      for (const [value, expected] of cases(argument)) {
        const error = thrownBy(() => holder.tries(optionsWith(argument, value)));
        expectRefusal(error, argument, value, expected);
        expect(stateOf(holder.object)).toEqual(before);
      }
      held?.release();
    }
    expectFree(holder);
  });

  test('refuses an option that it does not have by its name', () => {
    const holder = create();
    for (const name of optionNames.filter((name) => !names.includes(name))) {
      expect(() => holder.tries({ [name]: undefined })).toThrow(`options has "${name}"`);
    }
    expectFree(holder);
  });

  test('takes options that are empty, and members that are undefined', () => {
    const holder = create();
    const nothing = Object.fromEntries(names.map((name) => [name, undefined]));
    for (const given of [undefined, {}, nothing, Object.create(null)]) {
      const permit = holder.tries(given);
      expect(permit?.released).toBe(false);
      permit?.release();
    }
  });
});

test('the edges of timeout and priority are good', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const semaphore = new Semaphore(1);
  const held = await semaphore.acquire({ timeout: 0, priority: -Number.MAX_VALUE });
  const granted: string[] = [];
  const enter = (name: string, options: object) =>
    semaphore.acquire(options).then((permit) => {
      granted.push(name);
      permit.release();
    });
  void enter('last', { priority: -Number.MAX_VALUE });
  void enter('fraction', { priority: -0.5 });
  void enter('longest', { timeout: 2 ** 31 - 1 });
  void enter('minus nothing', { priority: -0 });
  void enter('first', { priority: Number.MAX_VALUE });
  void enter('for ever', { timeout: Number.POSITIVE_INFINITY });
  vi.advanceTimersByTime(2 ** 31 - 2);
  expect(semaphore.waiting).toBe(6);
  held.release();
  await nextMacrotask();
  vi.useRealTimers();
  expect(granted).toEqual(['first', 'longest', 'minus nothing', 'for ever', 'fraction', 'last']);
});

test('values of different kinds have different descriptions', () => {
  const semaphore = new Semaphore(1);
  const messages = [1n, '1', [1]].map(
    (value) => (thrownBy(() => semaphore.tryAcquire({ permits: value as never })) as Error).message,
  );
  for (const message of messages) expect(message).not.toMatch(/got 1$/);
});
