/**
 * Each invalid argument is refused with an error that names it, shows its value and says what was expected, before any
 * effect: not even a connection is made.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { nextMacrotask } from '@pointsman/spec';
import { Redis } from 'ioredis';
import { createClient, createClientPool, createSentinel } from 'redis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fencedSet, redis } from '../redis/index.js';
import { SharedMutex } from './index.js';

type Expected = typeof TypeError | typeof RangeError;
interface Argument {
  readonly name: string;
  readonly expectation: RegExp;
  readonly wrongType: readonly unknown[];
  readonly outOfRange?: readonly unknown[];
}

const things = [null, true, 1n, Symbol('x'), () => {}, {}, [], Number.NaN, 0, 1] as const;
const except = (...names: string[]) => things.filter((thing) => !names.includes(typeof thing));
const notNumbers = [null, true, 1n, Symbol('x'), () => {}, {}, [], '1'];
const badTtls = [0, 49, -1, 50.5, Number.NaN, Number.POSITIVE_INFINITY, 86_400_001];
const badCounts = [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31];

const namespace: Argument = {
  name: 'namespace',
  expectation: /non-empty, well-formed string without braces/,
  wrongType: [...things, '', '{a', 'a}', '\ud800'],
};
const ttl: Argument = {
  name: 'ttl',
  expectation: /integer from 50 to 86400000/,
  wrongType: notNumbers,
  outOfRange: badTtls,
};
const mode: Argument = {
  name: 'mode',
  expectation: /'local' or 'strict'/,
  wrongType: [...things, '', 'Local', 'fair'],
};
const options: Argument = {
  name: 'options',
  expectation: /an object/,
  wrongType: [
    ...['', 'x', null, 1, Number.NaN, true, 1n, Symbol('x')],
    ...[[], new Map(), new AbortController().signal],
  ],
};
const keys: Argument = {
  name: 'keys',
  expectation: /a string or an array of strings|non-empty, well-formed strings/,
  wrongType: [
    ...[undefined, null, true, 1, 1n, Symbol('k'), () => {}, {}, new Set(['a'])],
    ...['', [''], ['a', ''], [1], ['a', undefined], [null], [['a']], new Array(2), '\ud800'],
    ...[['a', 'b\udc00']],
  ],
};
const countOfKeys: Argument = {
  name: 'keys.length',
  expectation: /integer from 1 to 1000/,
  wrongType: [],
  outOfRange: [[], Array.from({ length: 1_001 }, (_, n) => `${n}`)],
};
const timeout: Argument = {
  name: 'timeout',
  expectation: /a number of milliseconds >= 0/,
  wrongType: notNumbers,
  outOfRange: [-1, Number.NaN],
};
const maxHold: Argument = {
  name: 'maxHold',
  expectation: /a number of milliseconds above 0/,
  wrongType: notNumbers,
  outOfRange: [0, -1, Number.NaN],
};
const reentrant: Argument = {
  name: 'reentrant',
  expectation: /a boolean/,
  wrongType: [null, 0, 1, '', 'true', {}, [], () => {}],
};
const signal: Argument = {
  name: 'signal',
  expectation: /AbortSignal/,
  wrongType: [...things, 'abort', new AbortController(), { aborted: false }, new EventTarget()],
};
const fn: Argument = {
  name: 'fn',
  expectation: /a function/,
  wrongType: [undefined, 'fn', Promise.resolve(), ...except('function')],
};

/** The value as the message shows it. */
function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'function';
  if (Object(value) !== value) return String(value);
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1);
  return tag === 'Object' ? 'object' : tag;
}

const cases = ({ wrongType, outOfRange = [] }: Argument): [unknown, Expected][] => [
  ...wrongType.map((value): [unknown, Expected] => [value, TypeError]),
  ...outOfRange.map((value): [unknown, Expected] => [value, RangeError]),
];

function expectRefusal(error: unknown, argument: Argument, value: unknown, expected: Expected) {
  const what = `${argument.name}: ${shown(value)}`;
  expect(error, what).toBeInstanceOf(expected);
  const { message } = error as Error;
  expect(message, what).toContain(argument.name);
  expect(message, what).toMatch(argument.expectation);
  // For a list, the message shows the invalid item, or the number of items.
  if (!Array.isArray(value)) expect(message, what).toContain(`got ${shown(value)}`);
}

const thrownBy = (call: () => unknown): unknown => {
  try {
    call();
  } catch (error) {
    return error;
  }
  return undefined;
};

const reasonOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (reason) => reason,
  );

let server: Server;
let connections = 0;

beforeAll(async () => {
  server = createServer((socket) => {
    connections++;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => server.close());
beforeEach(() => {
  connections = 0;
});

const client = () => new Redis({ port: (server.address() as AddressInfo).port, lazyConnect: true });
const never = () => expect.unreachable('fn was called');

async function expectNothingSent(mutex: SharedMutex) {
  await nextMacrotask();
  expect(mutex.metrics).toMatchObject({ batches: 0, grants: 0, wait: { count: 0 } });
  expect(connections).toBe(0);
}

const name: Argument = {
  name: 'name',
  expectation: /non-empty, well-formed string without spaces and slashes/,
  wrongType: [...things, '', 'a b', 'a/b', '\n', '\udfff'],
};

describe('redis', () => {
  const handler: Argument = {
    name: 'handler',
    expectation: /'script' or 'pure'/,
    wrongType: [...things, '', 'lua'],
  };

  test.each([namespace, ttl, handler, name])('refuses a bad $name', (argument) => {
    for (const [value, expected] of cases(argument)) {
      const error = thrownBy(() => redis(client(), { [argument.name]: value } as object));
      expectRefusal(error, argument, value, expected);
    }
  });

  test('refuses bad and unknown options', () => {
    for (const [value, expected] of cases(options)) {
      const error = thrownBy(() => redis(client(), value as object));
      expectRefusal(error, options, value, expected);
    }
    expect(() => redis(client(), { mode: 'local' } as never)).toThrow(/^options has "mode"/);
  });

  test('refuses objects that are not clients', () => {
    const argument: Argument = {
      name: 'client',
      expectation: /ioredis.*node-redis/,
      wrongType: [undefined, 'redis://localhost', Redis, new Map(), ...things],
    };
    for (const [value, expected] of cases(argument)) {
      expectRefusal(
        thrownBy(() => redis(value as never)),
        argument,
        value,
        expected,
      );
    }
  });

  test('accepts clients that are not connected yet', () => {
    expect(() => redis(client())).not.toThrow();
    expect(() => redis(createClient())).not.toThrow();
    expect(() => redis(createClientPool())).not.toThrow();
    const sentinelRootNodes = [{ host: '127.0.0.1', port: 1 }];
    expect(() => redis(createSentinel({ name: 'x', sentinelRootNodes }))).not.toThrow();
  });

  test('treats undefined as an option that is not given', () => {
    const none = { namespace: undefined, ttl: undefined, handler: undefined, name: undefined };
    expect(redis(client(), none)).toMatchObject({ namespace: 'pointsman', ttl: 5_000 });
  });
});

test('withNamespace refuses a bad namespace', () => {
  const store = redis(client());
  for (const [value, expected] of cases(namespace)) {
    expectRefusal(
      thrownBy(() => store.withNamespace(value as never)),
      namespace,
      value,
      expected,
    );
  }
  expect(thrownBy(() => store.withNamespace(undefined as never))).toBeInstanceOf(TypeError);
});

const newMutex = () => new SharedMutex(redis(client()));

describe('new SharedMutex', () => {
  test.each([mode, name])('refuses a bad $name', (argument) => {
    for (const [value, expected] of cases(argument)) {
      const given = { [argument.name]: value } as object;
      const error = thrownBy(() => new SharedMutex(redis(client()), given));
      expectRefusal(error, argument, value, expected);
    }
  });

  test('refuses bad options', () => {
    for (const [value, expected] of cases(options)) {
      const error = thrownBy(() => new SharedMutex(redis(client()), value as object));
      expectRefusal(error, options, value, expected);
    }
  });

  test('refuses objects that are not stores', () => {
    const argument: Argument = {
      name: 'store',
      expectation: /a store, such as redis\(\) of 'pointsman\/redis' returns/,
      wrongType: [undefined, 'redis://localhost', client(), redis, ...things],
    };
    for (const [value, expected] of cases(argument)) {
      expectRefusal(
        thrownBy(() => new SharedMutex(value as never)),
        argument,
        value,
        expected,
      );
    }
  });

  test('treats undefined as an option that is not given', () => {
    const store = redis(client());
    expect(() => new SharedMutex(store, { mode: undefined, name: undefined })).not.toThrow();
  });
});

type Call = (mutex: SharedMutex, keys: never, options?: never) => Promise<unknown>;
const calls: Record<string, Call> = {
  lock: (mutex, ...given) => mutex.lock(...given),
  tryLock: (mutex, ...given) => mutex.tryLock(...given),
  run: (mutex, keys, options) => mutex.run(keys, never, options),
  'what wrap returns': (mutex, keys, options) =>
    Promise.resolve().then(() => mutex.wrap(keys, never, options)()),
  'what wrap returns, with keys that are computed': (mutex, keys, options) =>
    Promise.resolve().then(() => mutex.wrap(() => keys, never, options)()),
};

describe.each(Object.entries(calls))('%s', (name, call) => {
  test.each([keys, countOfKeys])('refuses bad $name', async (argument) => {
    const mutex = newMutex();
    for (const [value, expected] of cases(argument)) {
      // A function computes the keys.
      if (typeof value === 'function') continue;
      expectRefusal(await reasonOf(call(mutex, value as never)), argument, value, expected);
    }
    await expectNothingSent(mutex);
  });

  const waits = name === 'tryLock' ? [] : [timeout, signal];
  test.each([maxHold, reentrant, ...waits])('refuses a bad $name', async (argument) => {
    const mutex = newMutex();
    for (const [value, expected] of cases(argument)) {
      const given = { [argument.name]: value } as never;
      const error = await reasonOf(call(mutex, 'k' as never, given));
      expectRefusal(error, argument, value, expected);
    }
    await expectNothingSent(mutex);
  });

  test('refuses bad options', async () => {
    const mutex = newMutex();
    for (const [value, expected] of cases(options)) {
      const error = await reasonOf(call(mutex, 'k' as never, value as never));
      expectRefusal(error, options, value, expected);
    }
    await expectNothingSent(mutex);
  });
});

test.each(Object.entries(calls))('%s refuses unknown options', async (name, call) => {
  const mutex = newMutex();
  const unknown = ['timeOut', 'wait', ...(name === 'tryLock' ? ['timeout', 'signal'] : [])];
  for (const option of unknown) {
    const error = await reasonOf(call(mutex, 'k' as never, { [option]: undefined } as never));
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(new RegExp(`^options has "${option}", expected only`));
  }
  const error = await reasonOf(call(mutex, 'k' as never, { reentrant: true } as never));
  expect(error).toEqual(new TypeError('owner must be given with reentrant, got undefined'));
  await expectNothingSent(mutex);
});

test('wrap refuses bad options at once, and the mutex unknown options by name', () => {
  const mutex = newMutex();
  expect(() => mutex.wrap('k', never, { priority: 1 } as never)).toThrow(/^options has "priority"/);
  expect(() => new SharedMutex(redis(client()), { timeout: 1 } as never)).toThrow(
    /^options has "timeout"/,
  );
});

test('run and wrap refuse a value that is not a function, wrap at once', async () => {
  const mutex = newMutex();
  for (const [value, expected] of cases(fn)) {
    expectRefusal(await reasonOf(mutex.run('k', value as never)), fn, value, expected);
    expectRefusal(
      thrownBy(() => mutex.wrap('k', value as never)),
      fn,
      value,
      expected,
    );
  }
  for (const [value, expected] of cases(keys)) {
    if (typeof value === 'function') continue;
    expectRefusal(
      thrownBy(() => mutex.wrap(value as never, never)),
      keys,
      value,
      expected,
    );
  }
  await expectNothingSent(mutex);
});

test('a call rejects with the error of the function that computes its keys', async () => {
  const mutex = newMutex();
  const error = new Error('mine');
  const wrapped = mutex.wrap(() => {
    throw error;
  }, never);
  await expect(wrapped()).rejects.toBe(error);
  await expectNothingSent(mutex);
});

test('a condition refuses a bad name, guard and count', async () => {
  const mutex = newMutex();
  const name: Argument = {
    name: 'name',
    expectation: /non-empty, well-formed string/,
    wrongType: [undefined, '', '\ud800', ...things],
  };
  for (const [value, expected] of cases(name)) {
    expectRefusal(
      thrownBy(() => mutex.condition(value as never)),
      name,
      value,
      expected,
    );
  }
  const condition = mutex.condition('c');
  const guard: Argument = {
    name: 'guard',
    expectation: /a guard/,
    wrongType: [undefined, 'k', { keys: ['k'], valid: true }, ...things],
  };
  for (const [value, expected] of cases(guard)) {
    expectRefusal(await reasonOf(condition.wait(value as never)), guard, value, expected);
  }
  const count: Argument = {
    name: 'count',
    expectation: /integer from 1 to 2147483647/,
    wrongType: notNumbers,
    outOfRange: badCounts,
  };
  for (const [value, expected] of cases(count)) {
    expectRefusal(await reasonOf(condition.notify(value as never)), count, value, expected);
  }
  await expectNothingSent(mutex);
});

test('fencedSet refuses a bad client, key, value and fence', async () => {
  const target = client();
  const set = (...given: unknown[]) =>
    reasonOf(fencedSet(...(given as Parameters<typeof fencedSet>)));
  const key: Argument = {
    name: 'key',
    expectation: /non-empty, well-formed string/,
    wrongType: [undefined, '', ['k'], '\ud800', ...things],
  };
  const value: Argument = {
    name: 'value',
    expectation: /a well-formed string or a number/,
    wrongType: [undefined, 'a\udc00', ...except('number')],
  };
  const fence: Argument = {
    name: 'fence',
    expectation: /integer from 1 to 9007199254740991/,
    wrongType: [undefined, '1', { token: 1 }, ...except('number')],
    outOfRange: [0, -1, 0.5, Number.NaN, 2 ** 53],
  };
  for (const [bad, expected] of cases(key)) {
    expectRefusal(await set(target, bad, 'v', 1), key, bad, expected);
  }
  for (const [bad, expected] of cases(value)) {
    expectRefusal(await set(target, 'k', bad, 1), value, bad, expected);
  }
  for (const [bad, expected] of cases(fence)) {
    expectRefusal(await set(target, 'k', 'v', bad), fence, bad, expected);
  }
  for (const bad of [undefined, {}, 'redis://localhost']) {
    expect(await set(bad, 'k', 'v', 1)).toMatchObject({
      name: 'TypeError',
      message: expect.stringMatching(/^client must be /),
    });
  }
  expect(connections).toBe(0);
});
