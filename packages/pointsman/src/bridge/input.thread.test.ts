/** Invalid arguments: the error names the argument, its value and what was expected. */
import { describe, expect, test } from 'vitest';
import { bridged, startThread, useBridge } from '../../tests/bridge/threads.js';
import { connect, expose } from './index.js';

const notNumbers = [null, '1', '', 1n, true, {}, [1], () => 1];
const notIntegers = [Number.NaN, Number.POSITIVE_INFINITY, 0.5, -1, 0, 2 ** 53];

/** Returns the value as error messages show it. */
function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'function';
  if (Object(value) !== value) return String(value);
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  return tag === 'Object' ? 'object' : tag;
}

describe('expose', () => {
  const given = (options: object) => async () => {
    const thread = await startThread();
    return expose(thread.worker, {}, options);
  };

  test.each([undefined, null, 5, 'worker', {}, { postMessage: 1 }])('the worker %s', (worker) => {
    expect(() => expose(worker as never, {})).toThrow(
      new TypeError(`worker must be a Worker or a port, got ${shown(worker)}`),
    );
  });

  test.each([undefined, null, 5, 'api', [], new Map()])('the api %s', async (api) => {
    const { worker } = await startThread();
    expect(() => expose(worker, api as never)).toThrow(
      new TypeError(`api must be an object of functions, got ${shown(api)}`),
    );
  });

  test('spin', async () => {
    for (const spin of [true, 'never', null, 0]) {
      await expect(given({ spin })()).rejects.toThrow(
        new TypeError(`spin must be "auto" or false, got ${shown(spin)}`),
      );
    }
  });

  test('heartbeatTimeout', async () => {
    const expected = 'heartbeatTimeout must be a number of milliseconds >= 1';
    for (const value of [...notNumbers, Number.NaN, 0, 0.5, -1]) {
      const Class = typeof value === 'number' ? RangeError : TypeError;
      const error = new Class(`${expected}, got ${shown(value)}`);
      await expect(given({ heartbeatTimeout: value })()).rejects.toThrow(error);
    }
  });

  test('options', async () => {
    for (const options of notOptions) {
      await expect(given(options as never)()).rejects.toThrow(
        new TypeError(`options must be an object, got ${shown(options)}`),
      );
    }
    await expect(given({ capacity: 4096 })()).rejects.toThrow(
      new TypeError(
        'options has "capacity", expected only spin, bufferSize, maxMessageSize, heartbeatTimeout',
      ),
    );
  });

  test('an option that is undefined has its default', async () => {
    const { bridge, run } = await bridged(
      { add: (a: number, b: number) => a + b },
      {
        spin: undefined,
        bufferSize: undefined,
        maxMessageSize: undefined,
        heartbeatTimeout: undefined,
      },
    );
    expect(
      await run(({ host }) => host.with({ timeout: undefined, signal: undefined }).add(1, 2)),
    ).toBe(3);
    bridge.close();
  });

  test.each([
    ['bufferSize', 2 ** 29],
    ['maxMessageSize', 2 ** 31 - 1],
  ])('%s', async (name, most) => {
    const expected = `${name} must be an integer from 1 to ${most}`;
    for (const value of notNumbers) {
      const error = new TypeError(`${expected}, got ${shown(value)}`);
      await expect(given({ [name]: value })()).rejects.toThrow(error);
    }
    for (const value of [...notIntegers, most + 1]) {
      const error = new RangeError(`${expected}, got ${shown(value)}`);
      await expect(given({ [name]: value })()).rejects.toThrow(error);
    }
  });
});

const notOptions = [null, 5, [], new Map(), AbortSignal.abort()];

describe('reserved names', () => {
  test.each(['async', 'send', 'batch', 'with', 'ready', 'closed', 'ended', 'close', 'then'])(
    '%s',
    async (name) => {
      const thread = await startThread();
      const message = `.${name}: the name is taken; choose another`;
      expect(() => expose(thread.worker, { [name]() {} })).toThrow(new TypeError(`api${message}`));
      const caught = await thread.run(
        ({ bridge, caught }, name) => caught(() => bridge.connect({ serve: { [name]() {} } })),
        name,
      );
      expect(caught).toMatchObject({ name: 'TypeError', message: `serve${message}` });
      expect(() => expose(thread.worker, { [name]: { inside() {} } })).toThrow(
        new TypeError(`api${message}`),
      );
    },
  );

  test('are allowed in nested objects', async () => {
    const { run } = await bridged({ inside: { close: () => 'a name like others' } });
    expect(await run(({ host }) => (host.inside as never as { close(): string }).close())).toBe(
      'a name like others',
    );
  });
});

describe('connect', () => {
  test('options', () => {
    const { port1: port } = new MessageChannel();
    for (const options of notOptions) {
      expect(() => connect(options as never)).toThrow(
        new TypeError(`options must be an object, got ${shown(options)}`),
      );
    }
    expect(() => connect({ port, timeout: 5 } as never)).toThrow(
      new TypeError('options has "timeout", expected only serve, port'),
    );
  });

  test('serve and the port', async () => {
    const thread = await startThread();
    const caught = await thread.run(async ({ bridge, caught }) => [
      await caught(() => bridge.connect({ serve: 5 as never })),
      await caught(() => bridge.connect({ serve: null as never })),
      await caught(() => bridge.connect({ port: {} as never })),
      await caught(() => bridge.connect({ port: null as never })),
      await caught(() => bridge.connect({ port: 'parent' as never })),
    ]);
    expect(caught.map(({ name, message }) => `${name}: ${message}`)).toEqual([
      'TypeError: serve must be an object of functions, got 5',
      'TypeError: serve must be an object of functions, got null',
      'TypeError: port must be a port, got object',
      'TypeError: port must be a port, got null',
      'TypeError: port must be a port, got "parent"',
    ]);
  });
});

describe('with', () => {
  const all = useBridge({ add: (a: number, b: number) => a + b });
  const values = {
    timeout: [...notNumbers.slice(0, 7).filter((value) => typeof value !== 'bigint')],
    outOfRange: [Number.NaN, Number.NEGATIVE_INFINITY, -1],
    signal: [null, 'signal', 5, {}, { aborted: false }],
  };

  test.each(['worker', 'host'])('in the %s', async (side) => {
    const refused = async (name: string, value: unknown) => {
      const options = { [name]: value } as never;
      if (side === 'worker') {
        return all.run(
          ({ host, caught }, options) => caught(() => host.with(options)),
          options as object as never,
        );
      }
      try {
        all.bridge.with(options);
        return { name: 'nothing thrown', message: '' };
      } catch (error) {
        return error as Error;
      }
    };
    const milliseconds = 'timeout must be a number of milliseconds >= 0';
    for (const value of values.timeout) {
      const { name, message } = await refused('timeout', value);
      expect([name, message]).toEqual(['TypeError', `${milliseconds}, got ${shown(value)}`]);
    }
    for (const value of values.outOfRange) {
      const { name, message } = await refused('timeout', value);
      expect([name, message]).toEqual(['RangeError', `${milliseconds}, got ${shown(value)}`]);
    }
    for (const value of values.signal) {
      const { name, message } = await refused('signal', value);
      expect([name, message]).toEqual([
        'TypeError',
        `signal must be an AbortSignal, got ${shown(value)}`,
      ]);
    }
  });

  test('not an object', async () => {
    for (const options of [undefined, ...notOptions]) {
      expect(() => all.bridge.with(options as never)).toThrow(
        new TypeError(`options must be an object, got ${shown(options)}`),
      );
    }
  });

  test('an unknown option', async () => {
    const message = 'options has "retries", expected only signal, timeout';
    expect(() => all.bridge.with({ retries: 5 } as never)).toThrow(new TypeError(message));
    const caught = await all.run(({ host, caught }) =>
      caught(() => host.with({ retries: 5 } as never)),
    );
    expect(caught).toMatchObject({ name: 'TypeError', message });
  });

  test('a batch with other values than its calls', async () => {
    const caught = await all.run(async ({ host, caught }) => {
      let other: unknown;
      host.batch((calls) => {
        other = calls.add(1, 2);
        return [];
      });
      return [
        await caught(() => host.batch((() => [other]) as never)),
        await caught(() => host.batch((() => 5) as never)),
        await caught(() => host.batch((() => [{}]) as never)),
        await caught(() => host.async.batch((() => [{ target: 0, args: [] }]) as never)),
        host.add(1, 2),
      ];
    });
    const message = expect.stringMatching(/^batch must be .* calls/);
    const refused = { name: 'TypeError', message };
    expect(caught).toMatchObject([refused, refused, refused, refused, 3]);
  });
});
