/** Two endpoints connected without threads, so that a test can change or lose each message. */
import { describe, expect, test } from 'vitest';
import { Endpoint } from './endpoint.js';
import type { NamedFunction } from './functions.js';

/** Whether a message is delivered, or cannot be read. */
type Way = (records: unknown[]) => 'deliver' | 'unreadable';

interface Joined {
  readonly near: Endpoint;
  readonly far: Endpoint;
  /** Unreadable messages that no endpoint had announced. */
  readonly unknown: unknown[];
}

/** `there` and `back` deliver the messages of `near` and of `far`. */
function join(
  served: Record<string, (...args: never[]) => unknown>,
  there: Way = () => 'deliver',
  back: Way = () => 'deliver',
): Joined {
  const functions = Object.entries(served).map(([name, call]) => ({ name, call }) as NamedFunction);
  const unknown: unknown[] = [];
  const make = (other: () => Endpoint, way: Way) =>
    new Endpoint({
      functions,
      post(records, transfer) {
        const isRead = way(records) === 'deliver';
        const message = structuredClone(records, { transfer: transfer as never });
        queueMicrotask(() => {
          if (isRead) other().receive(message);
          else if (!other().receiveUnreadable(new Error('lost on the way'))) unknown.push(message);
        });
      },
      unanswered: (name, why) => new Error(`${name}: ${why}`),
    });
  const near: Endpoint = make(() => far, there);
  const far: Endpoint = make(() => near, back);
  return { near, far, unknown };
}

const reasonOf = (promise: Promise<unknown>) =>
  promise.then(
    (value) => expect.unreachable(`there is ${value}`),
    (error: unknown) => error,
  );

/** A message with shared memory, which another process could not read. */
const hasMemory = (records: unknown[]) =>
  JSON.stringify(records, (_, value) =>
    value instanceof SharedArrayBuffer ? 'memory' : value,
  ).includes('memory')
    ? 'unreadable'
    : 'deliver';
const memory = () => new SharedArrayBuffer(8);

describe('a message that cannot be read fails only its own call', () => {
  const served = {
    echo: (value: unknown) => value,
    later: async (value: unknown) => value,
    makeMemory: memory,
    throwMemory: () => {
      throw Object.assign(new Error('with memory'), { memory: memory() });
    },
  };
  const [ECHO, LATER, MAKE, THROW] = [0, 1, 2, 3];

  test('arguments', async () => {
    const { near, unknown } = join(served, hasMemory);
    const call = (target: number, args: unknown[]) => near.call(target, args, {}, 'it');
    const before = [call(ECHO, [1]), call(LATER, [2])];
    const lost = call(ECHO, [memory()]);
    const after = [call(ECHO, [3]), call(LATER, [{ a: [4] }])];
    expect(await reasonOf(lost)).toMatchObject({
      name: 'DataCloneError',
      message: 'the value cannot be read in this thread: lost on the way',
    });
    expect(await Promise.all([...before, ...after])).toEqual([1, 2, 3, { a: [4] }]);
    expect(unknown).toEqual([]);
  });

  test.each([MAKE, THROW])('an answer', async (target) => {
    const { near, unknown } = join(served, undefined, hasMemory);
    const call = (target: number, args: unknown[]) => near.call(target, args, {}, 'it');
    const before = call(ECHO, [1]);
    const lost = call(target, []);
    const after = call(ECHO, [2]);
    expect(await reasonOf(lost)).toMatchObject({ name: 'DataCloneError' });
    expect(await Promise.all([before, after])).toEqual([1, 2]);
    expect(unknown).toEqual([]);
  });

  test('the reason of a signal: it aborts with the error', async () => {
    const { near } = join({ seen: (signal: AbortSignal) => aborted(signal) }, hasMemory);
    const controller = new AbortController();
    const seen = near.call(0, [controller.signal], {}, 'seen');
    await Promise.resolve();
    controller.abort({ memory: memory() });
    expect(await seen).toBe('DataCloneError');
  });

  test('an unannounced message is reported, and does not fail calls of other messages', async () => {
    let isLost = false;
    const { near, unknown } = join(served, () => (isLost ? 'unreadable' : 'deliver'));
    const before = near.call(ECHO, [1], {}, 'echo');
    near.flush();
    isLost = true;
    near.notify(ECHO, ['lost'], 'echo');
    isLost = false;
    expect(await Promise.all([before, near.call(ECHO, [2], {}, 'echo')])).toEqual([1, 2]);
    expect(unknown).toHaveLength(1);
  });
});

function aborted(signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve((signal.reason as Error).name));
  });
}

describe('messages', () => {
  test('plain values of one turn travel in one message; a value that the platform copies gets its own', async () => {
    const sizes: number[] = [];
    const { near } = join({ echo: (value: unknown) => value }, (records) => {
      sizes.push(records.length / 5);
      return 'deliver';
    });
    const call = (value: unknown) => near.call(0, [value], {}, 'echo');
    const small = [1, 'text', { a: 1 }, [1, 2], ['a', {}], null, undefined, 5n];
    const values = [...small, new Date(0), new Map([[1, 2]]), { rest: true }];
    expect(await Promise.all(values.map(call))).toEqual(values);
    expect(sizes).toEqual([8, 1, 1, 1]);
  });

  test('a getter that sends another value', async () => {
    const { near } = join({ echo: (value: unknown) => value });
    let inner: Promise<unknown> | undefined;
    const value = {
      get a() {
        inner ??= near.call(0, [{ inner: true }], {}, 'echo');
        return { outer: true };
      },
    };
    expect(await near.call(0, [value], {}, 'echo')).toEqual({ a: { outer: true } });
    expect(await inner).toEqual({ inner: true });
  });

  test('a symbol beside a function fails only its call', async () => {
    const { near } = join({ echo: (value: unknown) => value });
    const [before, refused, after] = [1, { call: () => {}, tag: Symbol('tag') }, 2].map((value) =>
      near.call(0, [value], {}, 'echo'),
    );
    await expect(refused).rejects.toThrow('value[0].tag cannot be cloned: it is a symbol');
    expect(await Promise.all([before, after])).toEqual([1, 2]);
  });

  test('boxed primitives beside a function keep their class', async () => {
    const boxed = [Object(5), Object(true), Object(7n), Object('text')];
    const { near } = join({ list: (value: unknown[]) => value.slice(1) });
    const arrived = (await near.call(0, [[() => {}, ...boxed]], {}, 'list')) as unknown[];
    expect(arrived).toEqual(boxed);
    expect(arrived.map((value) => typeof value)).toEqual(boxed.map(() => 'object'));
  });

  test('a getter that throws fails only its call', async () => {
    const { near } = join({ echo: (value: unknown) => value });
    const value = {
      get a(): never {
        throw new RangeError('no a');
      },
    };
    const failed = near.call(0, [{ value }], {}, 'echo');
    const fine = near.call(0, [{ a: 1 }], {}, 'echo');
    expect(await reasonOf(failed)).toMatchObject({ name: 'RangeError', message: 'no a' });
    expect(await fine).toEqual({ a: 1 });
  });
});
