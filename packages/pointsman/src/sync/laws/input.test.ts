/**
 * Bad input, for every argument of every method: the error says which argument, what it was and what
 * was expected; a method that returns a promise rejects with it; and nothing has changed.
 */
import { nextMacrotask } from '@pointsman/spec';
import { describe, expect, test, vi } from 'vitest';
import { KeyedMutex, KeyedSemaphore, Mutex, type Permit, Semaphore } from '../index.js';

type Expected = typeof RangeError | typeof TypeError;

/** What an argument refuses: the values, and words of the expectation that the message must name. */
interface Argument {
  readonly name: string;
  readonly expectation: RegExp;
  readonly outOfRange: readonly number[];
  readonly wrongType: readonly unknown[];
}

const notNumbers = [null, '1', '', 1n, true, Symbol('1'), {}, [1], () => 1, new Date(1)];
const notNumeric = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
const notCounts = [...notNumeric, -1, 0, -0, 0.5, 1.5, Number.MAX_SAFE_INTEGER + 1];

const notCountsFrom0 = notCounts.filter(
  (value) => value !== 0 && value !== Number.POSITIVE_INFINITY,
);

const limit: Argument = {
  name: 'limit',
  expectation: /integer.* 0\b.* Infinity/,
  outOfRange: notCountsFrom0,
  wrongType: [undefined, ...notNumbers],
};
const limitOfKeys: Argument = {
  ...limit,
  expectation: /integer.* 1\b.* Infinity/,
  outOfRange: [...notCountsFrom0, 0, -0],
};
const maxWaiting: Argument = {
  name: 'maxWaiting',
  expectation: /integer.* 0\b.* Infinity/,
  outOfRange: notCountsFrom0,
  wrongType: notNumbers,
};
const objectName: Argument = {
  name: 'name',
  expectation: /string/,
  outOfRange: [],
  wrongType: [null, 1, 1n, true, Symbol('name'), {}, () => {}],
};
/** Of a primitive whose limit is 2. */
const permits: Argument = {
  name: 'permits',
  expectation: /integer.* 1\b.* 2\b/,
  outOfRange: [...notCounts, 3],
  wrongType: notNumbers,
};
const timeout: Argument = {
  name: 'timeout',
  expectation: /number.* 0\b/,
  outOfRange: [Number.NaN, Number.NEGATIVE_INFINITY, -1, -0.5],
  wrongType: notNumbers,
};
const priority: Argument = {
  name: 'priority',
  expectation: /finite number/,
  outOfRange: notNumeric,
  wrongType: notNumbers,
};
const signal: Argument = {
  name: 'signal',
  expectation: /AbortSignal/,
  outOfRange: [],
  wrongType: [
    ...[null, 'signal', '', 1n, true, false, Symbol('signal'), {}, [], () => {}, 0, 1, Number.NaN],
    // What people really pass by mistake.
    new AbortController(),
    new EventTarget(),
    { aborted: false },
    { aborted: false, addEventListener() {} },
    { aborted: false, removeEventListener() {} },
    { aborted: 'no', addEventListener() {} },
  ],
};
const options: Argument = {
  name: 'options',
  expectation: /object/,
  outOfRange: [],
  wrongType: [
    ...[null, 'options', '', 1n, true, false, Symbol('options'), () => {}, 0, 1, Number.NaN],
    ...[[], [2], new Map(), new Date(), new AbortController().signal],
  ],
};
const fn: Argument = {
  name: 'fn',
  expectation: /function/,
  outOfRange: [],
  wrongType: [undefined, null, 'fn', 1n, true, Symbol('fn'), {}, [], 0, 1, Promise.resolve()],
};

function cases({ outOfRange, wrongType }: Argument): [value: unknown, expected: Expected][] {
  return [
    ...outOfRange.map((value): [unknown, Expected] => [value, RangeError]),
    ...wrongType.map((value): [unknown, Expected] => [value, TypeError]),
  ];
}

function expectRefusal(error: unknown, argument: Argument, value: unknown, expected: Expected) {
  expect(error).toBeInstanceOf(Error);
  const { name, message } = error as Error;
  const shown = shownAs(value);
  const what = `${argument.name}: ${shown}`;
  expect({ what, name }).toEqual({ what, name: expected.name });
  expect(message, what).toMatch(new RegExp(`\\b${argument.name}\\b`));
  expect(message, what).toMatch(argument.expectation);
  expect(message, what).toContain(shown);
}

function shownAs(value: unknown): string {
  if (Object(value) !== value) return String(value);
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1);
  return ['Object', 'Function'].includes(tag) ? tag.toLowerCase() : tag;
}

function thrownBy(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  return undefined;
}

/** One primitive under test, with all that takes an argument. */
interface Subject {
  /** By their names, the methods that return a promise. */
  readonly waits: Record<string, (options: never) => Promise<unknown>>;
  readonly runs: (fn: never, options?: never) => Promise<unknown>;
  readonly tries: (options?: never) => Permit | undefined;
  readonly state: () => unknown;
}

const never = () => expect.unreachable('fn was called');

const subjects: Record<string, { arguments: Argument[]; create: () => Subject }> = {
  Semaphore: {
    arguments: [permits, priority, timeout, signal, options],
    create() {
      const semaphore = new Semaphore(2);
      return {
        waits: {
          acquire: (options) => semaphore.acquire(options),
          run: (options) => semaphore.run(never, options),
          drain: (options) => semaphore.drain(options),
        },
        runs: (fn, options) => semaphore.run(fn, options),
        tries: (options) => semaphore.tryAcquire(options),
        state: () => {
          const { available, waiting, limit, closed, idle } = semaphore;
          return { available, waiting, limit, closed, idle };
        },
      };
    },
  },
  Mutex: {
    arguments: [priority, timeout, signal, options],
    create() {
      const mutex = new Mutex();
      return {
        waits: {
          lock: (options) => mutex.lock(options),
          run: (options) => mutex.run(never, options),
          drain: (options) => mutex.drain(options),
        },
        runs: (fn, options) => mutex.run(fn, options),
        tries: (options) => mutex.tryLock(options),
        state: () => {
          const { locked, waiting, owner, closed } = mutex;
          return { locked, waiting, owner, closed };
        },
      };
    },
  },
  KeyedSemaphore: {
    arguments: [permits, priority, timeout, signal, options],
    create() {
      const keyed = new KeyedSemaphore<string>(2);
      return {
        waits: {
          acquire: (options) => keyed.acquire('key', options),
          run: (options) => keyed.run('key', never, options),
          drain: (options) => keyed.drain(options),
        },
        runs: (fn, options) => keyed.run('key', fn, options),
        tries: (options) => keyed.tryAcquire('key', options),
        state: () => {
          const { limit, closed, keyCount } = keyed;
          const keys = [...keyed.keys()];
          return {
            ...{ limit, closed, keyCount, keys },
            available: keyed.availableFor('key'),
            waiting: keyed.waitingFor('key'),
          };
        },
      };
    },
  },
  KeyedMutex: {
    arguments: [priority, timeout, signal, options],
    create() {
      const keyed = new KeyedMutex<string>();
      return {
        waits: {
          lock: (options) => keyed.lock('key', options),
          run: (options) => keyed.run('key', never, options),
          drain: (options) => keyed.drain(options),
        },
        runs: (fn, options) => keyed.run('key', fn, options),
        tries: (options) => keyed.tryLock('key', options),
        state: () => {
          const { closed, keyCount } = keyed;
          const keys = [...keyed.keys()];
          return {
            ...{ closed, keyCount, keys },
            locked: keyed.isLocked('key'),
            waiting: keyed.waitingFor('key'),
            owner: keyed.ownerOf('key'),
          };
        },
      };
    },
  },
};

const acquireOf = ({ waits }: Subject) =>
  (waits.acquire ?? waits.lock) as (options?: object) => Promise<Permit>;

/** Everything that is out, taken; so that a request would have to wait. */
function exhaust(subject: Subject): Permit[] {
  const held: Permit[] = [];
  for (let permit = subject.tries(); permit !== undefined; permit = subject.tries()) {
    held.push(permit);
  }
  return held;
}

/** What was refused has left nothing behind: everything still works, in order. */
async function probe(subject: Subject, held: Permit[], granted: string[]): Promise<void> {
  void acquireOf(subject)().then((permit) => {
    granted.push('probe');
    permit.release();
  });
  for (const permit of held) permit.release();
  await nextMacrotask();
  expect(granted.at(-1)).toBe('probe');
  // All of it is there again, and no more.
  const all = exhaust(subject);
  expect(all).toHaveLength(subject.waits.acquire ? 2 : 1);
  for (const permit of all) permit.release();
}

describe.each(Object.entries(subjects))('%s', (_, { arguments: known, create }) => {
  const methods = Object.keys(create().waits);
  // drain takes the options that limit the wait, and no permits or priority.
  const pairs = methods.flatMap((method) =>
    known
      .filter((argument) => method !== 'drain' || ![permits, priority].includes(argument))
      .map((argument) => [method, argument.name, argument] as const),
  );

  test.each(pairs)('%s refuses bad %s while free', async (method, name, argument) => {
    const subject = create();
    const before = subject.state();
    for (const [value, expected] of cases(argument)) {
      const promise = subject.waits[method]?.(
        (name === 'options' ? value : { [name]: value }) as never,
      );
      expect(promise).toBeInstanceOf(Promise);
      expect(subject.state()).toEqual(before);
      expectRefusal(await promise?.catch((error) => error), argument, value, expected);
      expect(subject.state()).toEqual(before);
    }
    await probe(subject, [], []);
    expect(subject.state()).toEqual(before);
  });

  test.each(pairs)('%s refuses bad %s while others wait', async (method, name, argument) => {
    const subject = create();
    const free = subject.state();
    const held = exhaust(subject);
    const granted: string[] = [];
    const enter = (name: string, options?: object) => {
      void acquireOf(subject)(options).then((permit) => {
        granted.push(name);
        permit.release();
      });
    };
    enter('plain');
    enter('limited', { signal: new AbortController().signal });
    const before = subject.state();
    for (const [value, expected] of cases(argument)) {
      const promise = subject.waits[method]?.(
        (name === 'options' ? value : { [name]: value }) as never,
      );
      expect(promise).toBeInstanceOf(Promise);
      expect(subject.state()).toEqual(before);
      expectRefusal(await promise?.catch((error) => error), argument, value, expected);
      expect(subject.state()).toEqual(before);
    }
    await probe(subject, held, granted);
    expect(granted).toEqual(['plain', 'limited', 'probe']);
    expect(subject.state()).toEqual(free);
  });

  const tried = known.filter(
    (argument) =>
      argument === options ||
      argument === permits ||
      (argument === priority && known.includes(permits)),
  );

  test.each(tried.map((argument) => [argument.name, argument] as const))(
    'the try refuses bad %s',
    async (name, argument) => {
      const subject = create();
      const free = subject.state();
      for (const state of ['free', 'taken']) {
        const held = state === 'taken' ? exhaust(subject) : [];
        const before = subject.state();
        for (const [value, expected] of cases(argument)) {
          const bad = (name === 'options' ? value : { [name]: value }) as never;
          expectRefusal(
            thrownBy(() => subject.tries(bad)),
            argument,
            value,
            expected,
          );
          expect(subject.state()).toEqual(before);
        }
        await probe(subject, held, []);
      }
      expect(subject.state()).toEqual(free);
    },
  );

  test('run refuses what is not a function', async () => {
    const subject = create();
    const free = subject.state();
    for (const state of ['free', 'taken']) {
      const held = state === 'taken' ? exhaust(subject) : [];
      const before = subject.state();
      for (const given of [undefined, {}, { timeout: 1_000 }]) {
        for (const [value, expected] of cases(fn)) {
          const promise = subject.runs(value as never, given as never);
          expect(promise).toBeInstanceOf(Promise);
          expectRefusal(await promise.catch((error) => error), fn, value, expected);
          expect(subject.state()).toEqual(before);
        }
      }
      await probe(subject, held, []);
    }
    expect(subject.state()).toEqual(free);
  });

  test('options may be empty, and a member may be undefined', async () => {
    const subject = create();
    const limits = { signal: undefined, timeout: undefined };
    const tried = known.includes(permits)
      ? { permits: undefined, priority: undefined }
      : { owner: undefined };
    for (const given of [undefined, {}, { ...limits, ...tried }, Object.create(null)] as never[]) {
      (await acquireOf(subject)(given)).release();
      expect(await subject.runs((() => 'result') as never, given)).toBe('result');
    }
    for (const given of [undefined, {}, tried, Object.create(null)] as never[]) {
      subject.tries(given)?.release();
    }
    for (const given of [undefined, {}, limits, Object.create(null)] as never[]) {
      expect(await subject.waits.drain?.(given)).toBeUndefined();
    }
    await probe(subject, [], []);
  });

  test('an option that a method does not have is refused by its name', async () => {
    const subject = create();
    const free = subject.state();
    const others: Record<string, string[]> = {
      drain: ['permits', 'priority', 'owner'],
      ...(known.includes(permits) ? {} : { lock: ['permits'], run: ['permits'] }),
    };
    for (const [method, wait] of Object.entries(subject.waits)) {
      for (const name of [...(others[method] ?? ['owner']), 'time out', 'Signal']) {
        const refusal = expect(wait({ [name]: undefined } as never)).rejects;
        await refusal.toThrow(new RegExp(`^options has "${name}", expected only `));
      }
    }
    for (const name of ['timeout', 'signal', known.includes(permits) ? 'owner' : 'permits']) {
      expect(() => subject.tries({ [name]: undefined } as never)).toThrow(`options has "${name}"`);
    }
    expect(subject.state()).toEqual(free);
  });

  test('options are read when they are given, each member once', async () => {
    const subject = create();
    const held = exhaust(subject);
    const reads: string[] = [];
    const given = new Proxy({} as Record<string, unknown>, {
      get(target, name) {
        reads.push(String(name));
        return target[String(name)];
      },
    });
    const waiter = acquireOf(subject)(given);
    const first = [...reads];
    expect(new Set(first).size).toBe(first.length);
    given.permits = given.priority = Number.NaN;
    for (const permit of held) permit.release();
    (await waiter).release();
    expect(reads).toEqual(first);
    await probe(subject, [], []);
  });
});

describe('limit', () => {
  test.each([
    ['Semaphore', limit, (value: never) => new Semaphore(value)],
    ['KeyedSemaphore', limitOfKeys, (value: never) => new KeyedSemaphore(value)],
  ])('new %s refuses a bad one', (_, limit, create) => {
    for (const [value, expected] of cases(limit)) {
      expectRefusal(
        thrownBy(() => create(value as never)),
        limit,
        value,
        expected,
      );
    }
  });

  test('a bad one is not set, and the old one stays', async () => {
    const semaphore = new Semaphore(2);
    const held = await semaphore.acquire();
    const waiter = semaphore.acquire({ permits: 2 });
    for (const [value, expected] of cases(limit)) {
      const set = () => {
        semaphore.limit = value as never;
      };
      expectRefusal(thrownBy(set), limit, value, expected);
      const { limit: kept, available, waiting } = semaphore;
      expect({ kept, available, waiting }).toEqual({ kept: 2, available: 1, waiting: 1 });
    }
    held.release();
    expect((await waiter).permits).toBe(2);
  });

  test.each([1, 2, 2 ** 32, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY])(
    '%d is a good one',
    (limit) => {
      const semaphore = new Semaphore(limit);
      expect(semaphore.available).toBe(limit);
      semaphore.tryAcquire({ permits: Math.min(limit, Number.MAX_SAFE_INTEGER) })?.release();
      expect(semaphore.available).toBe(limit);
      expect(new KeyedSemaphore(limit).availableFor('key')).toBe(limit);
    },
  );
});

describe.each([
  ['Semaphore', (options?: never) => new Semaphore(1, options)],
  ['Mutex', (options?: never) => new Mutex(options)],
  ['KeyedSemaphore', (options?: never) => new KeyedSemaphore(1, options)],
  ['KeyedMutex', (options?: never) => new KeyedMutex(options)],
] as const)('the options of a new %s', (_, create) => {
  test.each(
    [maxWaiting, objectName, options].map((argument) => [argument.name, argument] as const),
  )('refuse bad %s', (name, argument) => {
    for (const [value, expected] of cases(argument)) {
      const given = (name === 'options' ? value : { [name]: value }) as never;
      expectRefusal(
        thrownBy(() => create(given)),
        argument,
        value,
        expected,
      );
    }
  });

  test('refuse what they are not', () => {
    const refusal = 'options has "limit", expected only name, maxWaiting';
    expect(() => create({ limit: 1 } as never)).toThrow(refusal);
  });

  test('may be left out', () => {
    for (const given of [undefined, {}, { name: undefined, maxWaiting: undefined }] as never[]) {
      create(given);
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
