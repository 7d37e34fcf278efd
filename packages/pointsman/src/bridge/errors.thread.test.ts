/** Errors reach the caller in the other thread, and the bridge keeps working. */
import { describe, expect, test } from 'vitest';
import { bridged, type Thrown, transports, useBridge } from '../../tests/bridge/threads.js';

class QuotaError extends RangeError {
  override readonly name = 'QuotaError';
  readonly code = 'QUOTA';
  readonly limit = 5;
}

const thrown: Record<string, () => unknown> = {
  plain: () => new Error('plain'),
  empty: () => new Error(),
  type: () => new TypeError('a type'),
  derived: () => new QuotaError('too many'),
  caused: () => new Error('outer', { cause: new TypeError('inner', { cause: 'innermost' }) }),
  decorated: () =>
    Object.assign(new SyntaxError('decorated'), {
      code: 'E_CODE',
      details: { list: [1, { two: 2 }], when: new Date(5) },
    }),
  aggregate: () => new AggregateError([new RangeError('one'), 'two'], 'several'),
  exception: () => new DOMException('stopped', 'AbortError'),
};

/** The name of this function shows in the stack where the error was thrown. */
function throwHere(error: unknown): never {
  if (error instanceof Error) error.stack = `${error.name}: ${error.message}\n    at throwHere`;
  throw error;
}

function makeApi() {
  return {
    now: (kind: string): number => throwHere(thrown[kind]?.()),
    async later(kind: string): Promise<number> {
      await null;
      return throwHere(thrown[kind]?.());
    },
    throws(value: unknown) {
      throw value;
    },
    odd(kind: 'function' | 'uncloneable' | 'symbol') {
      if (kind === 'symbol') throw Symbol('odd');
      if (kind === 'function') throw Object.assign(new Error('with a function'), { f: () => 1 });
      throw Object.assign(new RangeError('with a promise'), { code: 'P', p: Promise.resolve() });
    },
    add: (a: number, b: number) => a + b,
    give: (kind: string): unknown => {
      if (kind === 'symbol') return { deep: [{ symbol: Symbol('s') }] };
      if (kind === 'promise') return { deep: Promise.resolve(1) };
      return { fine: true, shape: { a: 1, b: 2 } };
    },
    echo: (value: unknown) => value,
  };
}

const serve = () => ({
  fail(message: string) {
    throw Object.assign(new RangeError(message), { code: 'W' });
  },
  uncloneable: () => ({ deep: Symbol('s') }),
  fine: () => ({ a: 1 }),
});

describe('errors', () => {
  const all = useBridge(makeApi(), { serve });

  const catchAll = (kind: string) =>
    all.run(
      async ({ host, caught }, kind) => [
        await caught(function callsNow() {
          const result = host.now(kind);
          // Not returned directly: WebKit's stack omits the caller of a tail call.
          return result;
        }),
        await caught(() => host.later(kind)),
        await caught(() => host.async.now(kind)),
        await caught(() => host.async.later(kind)),
      ],
      kind,
    );

  test('an error of a blocking call has the stacks of both sides', async () => {
    const [now] = (await catchAll('plain')) as [Thrown];
    const [there, here] = now.stack.split('-- called by --');
    expect(there).toContain('throwHere');
    expect(here).toContain('callsNow');
    expect(here).not.toContain('throwHere');
  });

  test('an error of an asynchronous call has the stack of the other side', async () => {
    const [, , now, later] = await catchAll('plain');
    expect(now?.stack).toContain('throwHere');
    expect(later?.stack).toContain('throwHere');
  });

  test.each([
    ['plain', { name: 'Error', message: 'plain', type: 'Error', own: {} }],
    ['empty', { name: 'Error', message: '', type: 'Error' }],
    ['type', { name: 'TypeError', message: 'a type', type: 'TypeError' }],
    ['exception', { name: 'AbortError', message: 'stopped', type: 'DOMException' }],
    ['derived', { name: 'QuotaError', type: 'RangeError', own: { code: 'QUOTA', limit: 5 } }],
    [
      'caused',
      {
        message: 'outer',
        cause: { name: 'TypeError', message: 'inner', type: 'TypeError', cause: 'innermost' },
      },
    ],
    [
      'decorated',
      {
        type: 'SyntaxError',
        own: { code: 'E_CODE', details: { list: [1, { two: 2 }], when: new Date(5) } },
      },
    ],
    [
      'aggregate',
      {
        type: 'AggregateError',
        message: 'several',
        errors: [{ type: 'RangeError', message: 'one' }, 'two'],
      },
    ],
  ])('%s', async (kind, expected) => {
    const caught = await catchAll(kind);
    expect(caught).toHaveLength(4);
    for (const one of caught) expect(one).toMatchObject(expected);
  });

  test('a thrown value that is not an error is thrown as it is', async () => {
    const values = [undefined, null, 0, 'a string', { a: [1] }];
    const caught = await all.run(async ({ host }, values) => {
      const caught: unknown[] = [];
      for (const value of values) {
        try {
          host.throws(value);
        } catch (error) {
          caught.push(error);
        }
        await host.async.throws(value).catch((error: unknown) => caught.push(error));
      }
      return caught;
    }, values);
    expect(caught).toEqual(values.flatMap((value) => [value, value]));
  });

  test('an error arrives without its uncloneable properties', async () => {
    const caught = await all.run(async ({ host, caught }) => [
      await caught(() => host.odd('uncloneable')),
      await caught(() => host.async.odd('uncloneable')),
      await caught(() => host.odd('symbol')),
      host.add(1, 1),
    ]);
    const rest = {
      type: 'RangeError',
      message: 'with a promise',
      own: { code: 'P', droppedProperties: ['p'] },
    };
    expect(caught).toMatchObject(
      [rest, rest, { name: 'Error', message: /Symbol\(odd\)/ }, 2].map(matched),
    );
  });

  test('an error may have functions as properties', async () => {
    const answer = await all.run(async ({ host }) => {
      try {
        return host.odd('function');
      } catch (error) {
        return (error as { f(): Promise<number> }).f();
      }
    });
    expect(answer).toBe(1);
  });

  test('uncloneable arguments are rejected, and the bridge keeps working', async () => {
    const caught = await all.run(async ({ host, caught }) => {
      const bad = () => ({ shape: { x: 1, y: 2 }, list: [{ symbol: Symbol('s') }] });
      const good = { shape: { x: 1, y: 2 }, other: { z: 3 } };
      return [
        await caught(() => host.echo(bad())),
        host.echo(good),
        await caught(() => host.async.echo(bad())),
        await host.async.echo(good),
        await caught(() => host.send.echo(bad())),
        host.echo({ shape: { y: 1, x: 2 } }),
        await caught(() => host.batch((h) => [h.echo(1), h.echo(bad()), h.echo(3)])),
        host.batch((h) => [h.echo(good), h.echo({ late: good })]),
        host.add(1, 1),
      ];
    });
    const refused = { name: 'DataCloneError', message: /list\[0\]\.symbol.* a symbol/ };
    const good = { shape: { x: 1, y: 2 }, other: { z: 3 } };
    const expected = [refused, good, refused, good, refused, { shape: { y: 1, x: 2 } }, refused];
    expect(caught).toMatchObject([...expected, [good, { late: good }], 2].map(matched));
  });

  test('uncloneable results are rejected, and the bridge keeps working', async () => {
    const caught = await all.run(async ({ host, caught }) => [
      await caught(() => host.give('symbol')),
      host.give('fine'),
      await caught(() => host.async.give('promise')),
      await host.async.give('fine'),
      host.add(1, 1),
    ]);
    const fine = { fine: true, shape: { a: 1, b: 2 } };
    expect(caught).toMatchObject(
      [
        { name: 'DataCloneError', message: /deep\[0\]\.symbol/ },
        fine,
        { name: 'DataCloneError', message: /deep/ },
        fine,
        2,
      ].map(matched),
    );
  });

  test('an error of the worker reaches the host', async () => {
    const { worker } = all.bridge;
    const error = await worker.fail('from the worker').catch((error: unknown) => error);
    expect(error).toBeInstanceOf(RangeError);
    expect(error).toMatchObject({ message: 'from the worker', code: 'W' });
    await expect(worker.uncloneable()).rejects.toMatchObject({ name: 'DataCloneError' });
    expect(await worker.fine()).toEqual({ a: 1 });
  });
});

/** Replaces a pattern for a message with a matcher. */
function matched(value: unknown): unknown {
  const { message } = Object(value);
  if (!(message instanceof RegExp)) return value;
  return { ...(value as object), message: expect.stringMatching(message) };
}

describe('maxMessageSize', () => {
  const all = useBridge(
    {
      length: (given: Uint8Array) => given.length,
      make: (length: number) => new Uint8Array(length),
    },
    { maxMessageSize: 10_000, serve: () => ({ take: (given: Uint8Array) => given.length }) },
  );
  const tooMuch = (name: string) =>
    matched({ name: 'RangeError', call: name, message: new RegExp(`${name}\\(\\).* 10000 bytes`) });

  test('limits arguments, for all ways to call', async () => {
    const caught = await all.run(async ({ host, caught }) => [
      await caught(() => host.length(new Uint8Array(10_001))),
      host.length(new Uint8Array(9_000)),
      await caught(() => host.async.length(new Uint8Array(10_001))),
      await host.async.length(new Uint8Array(9_000)),
      await caught(() => host.send.length(new Uint8Array(1e6))),
      host.length(new Uint8Array(1)),
    ]);
    const one = tooMuch('length');
    expect(caught).toMatchObject([one, 9_000, one, 9_000, one, 1]);
  });

  test('limits results', async () => {
    const caught = await all.run(async ({ host, caught }) => [
      await caught(() => host.make(10_001)),
      host.make(9_000).length,
      await caught(() => host.async.make(10_001)),
      (await host.async.make(9_000)).length,
    ]);
    const one = { name: 'RangeError', message: (tooMuch('make') as { message: unknown }).message };
    expect(caught).toMatchObject([one, 9_000, one, 9_000]);
  });

  test('limits calls of the host', async () => {
    await expect(all.bridge.worker.take(new Uint8Array(10_001))).rejects.toThrow(
      /take\(\).* 10000/,
    );
    expect(await all.bridge.worker.take(new Uint8Array(9_000))).toBe(9_000);
  });
});

test('a getter that makes a call while its object is encoded gets an error', async () => {
  const { run } = await bridged({ echo: (value: unknown) => value });
  const caught = await run(async ({ host, caught }) => {
    const calls = {
      get inside() {
        return host.echo(1);
      },
    };
    return [await caught(() => host.echo(calls)), host.echo('fine')];
  });
  expect(caught).toMatchObject([
    { name: 'BridgeStateError', message: expect.stringContaining('echo()') },
    'fine',
  ]);
});

test.each(transports)(
  'an uncloneable property of an error is omitted and its name listed: %s',
  async (transport) => {
    const fail = () => {
      const cause = Object.assign(new Error('no connection'), { socket: new WeakMap() });
      const request = { socket: new WeakMap() };
      const error = new TypeError('request failed', { cause });
      throw Object.assign(error, {
        status: 404,
        request,
        tag: Symbol('tag'),
        nested: { ok: true },
      });
    };
    const expected = {
      type: 'TypeError',
      message: 'request failed',
      own: { status: 404, nested: { ok: true }, droppedProperties: ['request', 'tag'] },
      cause: { type: 'Error', message: 'no connection', own: { droppedProperties: ['socket'] } },
    };
    const { run } = await bridged(
      { fail, size: (value: { error: Error }) => Object.keys(value.error).length },
      { transport },
    );
    const caught = await run(({ host, caught }) => caught(() => host.async.fail()));
    expect(caught).toMatchObject(expected);
    // The same holds for an error inside a value.
    const size = await run(({ host }) =>
      host.async.size({ error: Object.assign(new Error('in a value'), { weak: new WeakMap() }) }),
    );
    expect(size).toBe(1);
  },
);
