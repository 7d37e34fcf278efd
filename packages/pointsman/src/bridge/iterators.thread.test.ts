/** Iterators and generators are passed by reference and return one item per call. */
import { describe, expect, test } from 'vitest';
import { bridged, transports, until, useBridge } from '../../tests/bridge/threads.js';

const events: string[] = [];

function makeApi() {
  return {
    async *count(to: number) {
      try {
        for (let n = 0; n < to; n++) yield n;
        return 'the end';
      } finally {
        events.push('finally');
      }
    },
    *plain(to: number) {
      try {
        for (let n = 0; n < to; n++) yield { n };
      } finally {
        events.push('finally');
      }
    },
    async *fails(after: number) {
      try {
        for (let n = 0; n < after; n++) yield n;
        throw new RangeError('no more');
      } finally {
        events.push('finally');
      }
    },
    async *catches() {
      try {
        yield 'first';
      } catch (error) {
        yield `caught ${(error as Error).message}`;
      }
    },
    async *echo() {
      let given: unknown = 'start';
      for (;;) given = yield given;
    },
    async sum(items: AsyncIterable<number>) {
      let sum = 0;
      for await (const item of items) sum += item;
      return sum;
    },
    async first(items: AsyncIterable<unknown>) {
      for await (const item of items) return item;
      return undefined;
    },
    list: () => ({ values: [1, 2][Symbol.iterator](), name: 'inside' }),
  };
}

describe('over a bridge', () => {
  const all = useBridge(makeApi(), {
    serve: () => ({
      async *letters(text: string) {
        yield* text;
      },
    }),
  });
  const past = () => events.splice(0);

  test('for await', async () => {
    const items = await all.run(async ({ host }) => {
      const items: unknown[] = [];
      for await (const item of await host.async.count(3)) items.push(item);
      for await (const item of host.count(2)) items.push(item);
      for await (const item of await host.async.plain(2)) items.push(item);
      return items;
    });
    expect(items).toEqual([0, 1, 2, 0, 1, { n: 0 }, { n: 1 }]);
    expect(past()).toEqual(['finally', 'finally', 'finally']);
  });

  test('a plain for loop blocks for each item', async () => {
    const items = await all.run(({ host }) => {
      const items: unknown[] = [...host.count(3)];
      for (const item of host.plain(2) as unknown as Iterable<unknown>) items.push(item);
      return items;
    });
    expect(items).toEqual([0, 1, 2, { n: 0 }, { n: 1 }]);
    expect(past()).toEqual(['finally', 'finally']);
  });

  test('leaving the loop early runs finally in the generator', async () => {
    await all.run(({ host }) => {
      for (const item of host.count(100)) if (item === 2) break;
    });
    expect(past()).toEqual(['finally']);
    await all.run(async ({ host }) => {
      for await (const item of host.count(100)) if (item === 2) break;
    });
    expect(past()).toEqual(['finally']);
    const message = await all.run(async ({ host, caught }) => {
      const { message } = await caught(() => {
        for (const item of host.count(100)) throw new Error(`at ${item}`);
      });
      return message;
    });
    expect([message, past()]).toEqual(['at 0', ['finally']]);
  });

  test('an error between two items', async () => {
    const caught = await all.run(async ({ host, caught }) => {
      const items: unknown[] = [];
      const now = await caught(() => {
        for (const item of host.fails(2)) items.push(item);
      });
      const later = await caught(async () => {
        for await (const item of host.fails(2)) items.push(item);
      });
      return { items, now, later };
    });
    const error = { name: 'RangeError', message: 'no more' };
    expect(caught).toMatchObject({ items: [0, 1, 0, 1], now: error, later: error });
    expect(past()).toEqual(['finally', 'finally']);
  });

  test('direct calls of next, return and throw', async () => {
    const steps = await all.run(async ({ host, caught }) => {
      const echo = host.echo() as AsyncIterator<unknown, unknown, unknown>;
      const catches = host.catches() as AsyncIterator<unknown, unknown, unknown>;
      const steps: unknown[] = [await echo.next('ignored'), await echo.next({ given: 1 })];
      steps.push(await echo.return?.('over'), await echo.next('after'));
      steps.push(await catches.next(), await catches.throw?.(new Error('thrown')));
      const plain = host.plain(3) as unknown as AsyncIterator<unknown>;
      steps.push(await plain.next());
      const { message } = await caught(() => plain.throw?.(new TypeError('out')));
      return [...steps, message];
    });
    expect(steps).toEqual([
      { done: false, value: 'start' },
      { done: false, value: { given: 1 } },
      { done: true, value: 'over' },
      { done: true, value: undefined },
      { done: false, value: 'first' },
      { done: false, value: 'caught thrown' },
      { done: false, value: { n: 0 } },
      'out',
    ]);
    expect(past()).toEqual(['finally']);
  });

  test('a generator continues after it has caught an error', async () => {
    const steps = await all.run(async ({ host }) => {
      const catches = host.catches() as AsyncIterator<unknown, unknown, unknown>;
      return [await catches.next(), await catches.throw?.(new Error('x')), await catches.next()];
    });
    expect(steps).toEqual([
      { done: false, value: 'first' },
      { done: false, value: 'caught x' },
      { done: true, value: undefined },
    ]);
  });

  test('an iterator inside a value', async () => {
    const items = await all.run(async ({ host }) => {
      const { values, name } = host.list();
      const items: unknown[] = [name];
      for await (const item of values as unknown as AsyncIterable<number>) items.push(item);
      return items;
    });
    expect(items).toEqual(['inside', 1, 2]);
  });

  test('iterators from the worker to the host', async () => {
    const sums = await all.run(async ({ host }) => {
      async function* numbers() {
        yield* [1, 2, 3];
      }
      function* plain() {
        yield* [1, 2, 3, 4];
      }
      return [await host.async.sum(numbers()), await host.async.sum(plain() as never)];
    });
    expect(sums).toEqual([6, 10]);
    let text = '';
    for await (const letter of await all.bridge.worker.letters('abc')) text += letter;
    expect(text).toBe('abc');
  });

  test('a host that leaves the loop early runs finally in the worker', async () => {
    const answer = await all.run(async ({ host }) => {
      let over = false;
      async function* items() {
        try {
          yield 'one';
          yield 'two';
        } finally {
          over = true;
        }
      }
      return [await host.async.first(items()), over];
    });
    expect(answer).toEqual(['one', true]);
  });
});

test('a finished iterator is done, also before its last reply is handled', async () => {
  const { run } = await bridged({
    ...makeApi(),
    turn: () => new Promise<void>((resolve) => setTimeout(resolve)),
  });
  const results = await run(async ({ host }) => {
    const items = await host.async.count(0);
    const first = items.next();
    // The reply to `next` arrives while this call blocks, and is handled after it.
    host.turn();
    const second = items.next();
    return [...(await Promise.all([first, second])), [...(items as Iterable<number>)]];
  });
  const done = { done: true, value: undefined };
  expect(results).toEqual([{ done: true, value: 'the end' }, done, []]);
});

describe.each(transports)('over %s', (transport) => {
  test('object literals are iterators too', async () => {
    const { run } = await bridged(makeApi(), { transport });
    const sums = await run(async ({ host }) => {
      const iterable = {
        name: 'numbers',
        async *[Symbol.asyncIterator]() {
          yield* [1, 2];
        },
      };
      let left = 3;
      const iterator = {
        next: () => ({ done: left === 0, value: left && left-- }),
        [Symbol.iterator]() {
          return this;
        },
      };
      return [await host.async.sum(iterable), await host.async.sum(iterator as never)];
    });
    expect(sums).toEqual([3, 6]);
  });

  test('an iterator that comes back is the original', async () => {
    const items = (async function* () {
      yield 1;
    })();
    const { run } = await bridged(
      { items: () => items, isOriginal: (value: unknown) => value === items },
      { transport },
    );
    expect(await run(async ({ host }) => host.async.isOriginal(await host.async.items()))).toBe(
      true,
    );
  });
});

test('close ends the generator and rejects its consumer', async () => {
  events.length = 0;
  const { run, bridge } = await bridged(makeApi());
  const seen = new Int32Array(new SharedArrayBuffer(4));
  const caught = run(
    async ({ host, caught }, seen) =>
      caught(async () => {
        for await (const item of await host.async.echo()) {
          void item;
          Atomics.add(seen, 0, 1);
        }
      }),
    seen,
  );
  await run(async ({ host, kept }) => {
    kept.count = await host.async.count(5);
    await (kept.count as AsyncIterator<number>).next();
  });
  await until(() => Atomics.load(seen, 0) > 2);
  bridge.close();
  expect(await caught).toMatchObject({ name: 'BridgeClosedError' });
  await until(() => events.length > 0);
  expect(events).toEqual(['finally']);
  const { name } = await run(({ kept, caught }) =>
    caught(() => (kept.count as AsyncIterator<number>).next()),
  );
  expect(name).toBe('BridgeClosedError');
});

test('an iterator that fails to start does not prevent the end of others', async () => {
  let ended = false;
  class Broken implements AsyncIterable<number> {
    [Symbol.asyncIterator](): AsyncIterator<number> {
      throw new Error('not today');
    }
  }
  const { run, bridge } = await bridged({
    broken: () => new Broken(),
    async *good() {
      try {
        yield 1;
      } finally {
        ended = true;
      }
    },
  });
  const caught = await run(async ({ host, kept, caught }) => {
    kept.items = [host.broken(), host.good()];
    const [broken, good] = kept.items as AsyncIterator<number>[];
    await good?.next();
    return caught(() => broken?.next());
  });
  expect(caught).toMatchObject({ message: 'not today' });
  bridge.close();
  expect(await bridge.ended).toBe('closed here');
  await until(() => ended);
});
