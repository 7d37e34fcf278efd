/** All ways to call, over shared memory and over messages. */
import { describe, expect, test } from 'vitest';
import { isPattern, pattern } from '../../tests/bridge/pattern.js';
import { type BridgeOptions, bridged, transports, useBridge } from '../../tests/bridge/threads.js';

type Config = Pick<BridgeOptions<object>, 'transport' | 'spin' | 'bufferSize'>;

const configs: [string, Config][] = [
  ['shared memory', {}],
  ['shared memory, parts of 4096 bytes', { bufferSize: 4096 }],
  ['shared memory, never spinning', { spin: false }],
  ['messages', { transport: 'messages' }],
];

class Counter {
  #count = 0;

  count(by: number): number {
    this.#count += by;
    return this.#count;
  }
}

const counter = new Counter();

function makeApi() {
  const noted: unknown[] = [];
  const held: ((value: number) => void)[] = [];
  return {
    noted,
    add: (a: number, b: number) => a + b,
    async later(n: number) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      return n;
    },
    rect: (id: string) => ({ x: id.length, y: -0.5, width: 3, height: 4.25 }),
    note(...values: unknown[]) {
      noted.push(...values);
    },
    noted_: () => noted.splice(0),
    fail(message: string): number {
      throw new RangeError(message);
    },
    sized(given: Uint8Array) {
      if (!isPattern(given, given.length)) throw new Error('these are other bytes');
      return given;
    },
    /** Resolves all calls at once, the last first, when `of` calls are pending. */
    together(n: number, of: number): Promise<number> {
      return new Promise((resolve) => {
        held.push(() => resolve(n));
        if (held.length === of) for (const answer of held.splice(0).reverse()) answer(0);
      });
    },
    name: 'not a function',
    inner: {
      who() {
        return Object.keys(this);
      },
      deeper: { join: (parts: string[], by?: string) => parts.join(by ?? '-') },
    },
  };
}

const serve = () => ({
  double: (n: number) => 2 * n,
  async later(n: number) {
    return n + 1;
  },
  refuse(message: string) {
    throw new TypeError(message);
  },
  back: (given: Uint8Array) => given,
  inner: { who: () => 'inner' },
});

describe.each(configs)('%s', (_, config) => {
  const blocks = config.transport !== 'messages';
  const all = useBridge(makeApi(), { ...config, serve });

  test.skipIf(!blocks)('a call blocks until the reply arrives', async () => {
    const answers = await all.run(({ host }) => [
      host.add(1, 2),
      host.later(3),
      host.rect('four'),
      host.inner.deeper.join(['a', 'b']),
      host.inner.deeper.join(['a', 'b'], '+'),
      host.inner.who(),
    ]);
    const four = { x: 4, y: -0.5, width: 3, height: 4.25 };
    expect(answers).toEqual([3, 3, four, 'a-b', 'a+b', ['who', 'deeper']]);
  });

  test('an asynchronous call returns a promise', async () => {
    const [pending, ...answers] = await all.run(async ({ host }) => {
      const answers = [host.async.add(1, 2), host.async.later(3), host.async.rect('four')];
      return [
        answers.every((answer) => answer instanceof Promise),
        ...(await Promise.all(answers)),
      ];
    });
    expect(pending).toBe(true);
    expect(answers).toEqual([3, 3, { x: 4, y: -0.5, width: 3, height: 4.25 }]);
  });

  test.skipIf(!blocks)('many calls in a row', async () => {
    const wrong = await all.run(({ host }) => {
      for (let n = 0; n < 500; n++) if (host.add(n, 1) !== n + 1) return n;
      return -1;
    });
    expect(wrong).toBe(-1);
  });

  test('send returns undefined and keeps the order', async () => {
    const answer = await all.run(async ({ host }) => {
      const answer = host.send.note(1, 'two');
      host.send.note({ three: 3 });
      await host.async.note('after');
      return answer;
    });
    expect(answer).toBeUndefined();
    expect(await all.run(({ host }) => host.async.noted_())).toEqual([
      1,
      'two',
      { three: 3 },
      'after',
    ]);
  });

  test.skipIf(!blocks)('a batch returns its results in order', async () => {
    const answers = await all.run(({ host }) =>
      host.batch((calls) => [
        calls.add(1, 1),
        calls.later(5),
        calls.inner.deeper.join(['x', 'y']),
        calls.rect('z'),
        calls.note('batch'),
      ]),
    );
    const z = { x: 1, y: -0.5, width: 3, height: 4.25 };
    expect(answers).toEqual([2, 5, 'x-y', z, undefined]);
    expect(await all.run(({ host }) => host.batch(() => []))).toEqual([]);
    expect(await all.run(({ host }) => host.noted_())).toEqual(['batch']);
  });

  test('an asynchronous batch', async () => {
    const answers = await all.run(({ host }) =>
      host.async.batch((calls) => [calls.add(1, 1), calls.later(5), calls.rect('z')]),
    );
    expect(answers).toEqual([2, 5, { x: 1, y: -0.5, width: 3, height: 4.25 }]);
  });

  test('all calls of a batch run, and the first error is thrown', async () => {
    const thrown = await all.run(async ({ host, caught }, blocks) => {
      const later = await caught(() =>
        host.async.batch((h) => [h.note(1), h.fail('one'), h.note(2), h.fail('two')]),
      );
      if (!blocks) return [later];
      return [
        later,
        await caught(() => host.batch((h) => [h.note(3), h.fail('one'), h.note(4), h.fail('two')])),
      ];
    }, blocks);
    for (const one of thrown) expect(one).toMatchObject({ name: 'RangeError', message: 'one' });
    expect(await all.run(({ host }) => host.async.noted_())).toEqual(
      blocks ? [1, 2, 3, 4] : [1, 2],
    );
  });

  test('many calls are pending at once and answered in another order', async () => {
    const answers = await all.run(({ host }) =>
      Promise.all(Array.from({ length: 300 }, (_, n) => host.async.together(n, 300))),
    );
    expect(answers).toEqual(Array.from({ length: 300 }, (_, n) => n));
  });

  test('the host calls the worker', async () => {
    const { worker } = all.bridge;
    expect(await worker.double(21)).toBe(42);
    expect(await worker.later(1)).toBe(2);
    expect(await worker.inner.who()).toBe('inner');
    expect(await worker.batch((calls) => [calls.double(1), calls.later(1)])).toEqual([2, 2]);
    await expect(worker.refuse('no')).rejects.toThrow(new TypeError('no'));
    await expect(worker.batch((calls) => [calls.double(1), calls.refuse('no')])).rejects.toThrow(
      'no',
    );
  });

  test('bytes of any size in both directions', { timeout: 20_000 }, async () => {
    const sizes = [0, 1, 7, 8, 9, 1000, 4063, 4064, 4065, 4096, 32_768, 300_000, 3_000_001];
    const right = await all.run(
      async ({ host, pattern, isPattern }, sizes, blocks) => {
        const right: boolean[] = [];
        for (const size of sizes) {
          const given = pattern(size);
          right.push(isPattern(await host.async.sized(given), size));
          if (blocks) right.push(isPattern(host.sized(given), size));
        }
        return right;
      },
      sizes,
      blocks,
    );
    expect(right).toEqual(right.map(() => true));
    for (const size of sizes) {
      expect(isPattern(await all.bridge.worker.back(pattern(size)), size)).toBe(true);
    }
  });

  test('both sides send more than fits into the ring', { timeout: 20_000 }, async () => {
    const fromWorker = all.run(async ({ host, pattern, isPattern }) => {
      const sizes = Array.from({ length: 40 }, (_, n) => n * 1_700);
      const answers = await Promise.all(sizes.map((size) => host.async.sized(pattern(size))));
      return answers.every((answer, n) => isPattern(answer, sizes[n] as number));
    });
    const sizes = Array.from({ length: 40 }, (_, n) => n * 1_900);
    const answers = await Promise.all(sizes.map((size) => all.bridge.worker.back(pattern(size))));
    expect(answers.every((answer, n) => isPattern(answer, sizes[n] as number))).toBe(true);
    expect(await fromWorker).toBe(true);
  });

  test.skipIf(!blocks)(
    'a call blocks while the host sends more than fits into the ring',
    { timeout: 20_000 },
    async () => {
      const fromWorker = all.run(({ host, pattern, isPattern }) => {
        for (let n = 0; n < 40; n++) {
          const size = n * 1_700;
          if (!isPattern(host.sized(pattern(size)), size)) return false;
        }
        return true;
      });
      const sizes = Array.from({ length: 40 }, (_, n) => n * 1_900);
      const answers = await Promise.all(sizes.map((size) => all.bridge.worker.back(pattern(size))));
      expect(answers.every((answer, n) => isPattern(answer, sizes[n] as number))).toBe(true);
      expect(await fromWorker).toBe(true);
    },
  );
});

describe.each(transports)('%s', (transport) => {
  test('20 MB in both directions', { timeout: 20_000 }, async () => {
    const { run, bridge } = await bridged(makeApi(), { transport, serve });
    const right = await run(async ({ host, pattern, isPattern }, blocks) => {
      const given = pattern(20_000_000);
      const answer = blocks ? host.sized(given) : await host.async.sized(given);
      return isPattern(answer, 20_000_000);
    }, transport !== 'messages');
    expect(right).toBe(true);
    const answer = await bridge.worker.back(pattern(20_000_000));
    expect(isPattern(answer, 20_000_000)).toBe(true);
  });
});

test('an API may be an instance of a class; its methods are bound', async () => {
  const { run } = await bridged(counter);
  expect(await run(({ host }) => [host.count(2), host.count(3)])).toEqual([2, 5]);
});

test('inherited methods can be called, but not the constructor', async () => {
  class Twice extends Counter {
    override count(by: number): number {
      return super.count(2 * by);
    }
    reset(): string {
      return 'reset';
    }
  }
  const { run } = await bridged(new Twice());
  expect(await run(({ host }) => [host.count(2), host.reset()])).toEqual([4, 'reset']);
  expect(await run(({ host }) => Object.hasOwn(host, 'constructor'))).toBe(false);
});

test('nested instances and modules have their functions; platform objects have none', async () => {
  // Like a module namespace object.
  const module: { readonly who: () => string } = Object.freeze(
    Object.create(null, {
      who: { value: () => 'a module', enumerable: true },
      [Symbol.toStringTag]: { value: 'Module' },
    }),
  );
  class Owner {
    readonly state = new Counter();
    readonly plain = { who: () => 'plain' };
    readonly name = 'a field';
    static make() {}
    own = () => this.name;
  }
  const api = {
    counter: new Counter(),
    owner: new Owner(),
    module,
    list: [() => 1],
    map: new Map([['f', () => 1]]),
    bytes: new Uint8Array(4),
    when: new Date(),
    later: Promise.resolve(),
    signal: new AbortController().signal,
  };
  const { run } = await bridged(api);
  const answers = await run(({ host }) => [
    host.counter.count(2),
    host.counter.count(3),
    host.owner.own(),
    host.owner.plain.who(),
    host.module.who(),
  ]);
  expect(answers).toEqual([2, 5, 'a field', 'plain', 'a module']);
  const there = await run(({ host }) => [
    Object.keys(host.owner),
    ['list', 'map', 'bytes', 'when', 'later', 'signal'].filter((name) => Object.hasOwn(host, name)),
  ]);
  expect(there).toEqual([['own', 'plain'], []]);
});

test('a property that is not a function is undefined', async () => {
  const { run } = await bridged(makeApi());
  const types = await run(({ host }) => {
    const { name, missing, async } = host as unknown as Record<string, Record<string, unknown>>;
    return [typeof name, typeof missing, typeof async?.missing];
  });
  expect(types).toEqual(['undefined', 'undefined', 'undefined']);
});

test('omitted arguments stay omitted', async () => {
  const { run } = await bridged({
    count: (...args: unknown[]) => args.length,
    optional: (a = 'default', b?: string) => [a, b],
  });
  const answers = await run(({ host }) => [
    host.count(),
    host.count(undefined),
    host.count(null, 1),
    host.optional(),
    host.optional(undefined, 'b'),
  ]);
  expect(answers).toEqual([0, 1, 2, ['default', undefined], ['default', 'b']]);
});

test('timers of the host fire while a worker makes calls without a pause', async () => {
  const { run, bridge } = await bridged({ add: (a: number, b: number) => a + b });
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const hammering = run(({ host }, stop) => {
    let calls = 0;
    while (Atomics.load(stop, 0) === 0) calls = host.add(calls, 1);
    return calls;
  }, stop);
  for (let timers = 0; timers < 10; timers++) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  Atomics.store(stop, 0, 1);
  expect(await hammering).toBeGreaterThan(0);
  bridge.close();
});

test('a host may have several threads', async () => {
  const api = { who: () => 'first' };
  const one = await bridged(api);
  const two = await bridged({ who: () => 'second' });
  const both = Promise.all([
    one.run(({ host }) => Array.from({ length: 100 }, () => host.who())),
    two.run(({ host }) => Array.from({ length: 100 }, () => host.who())),
  ]);
  expect(await both).toEqual([Array(100).fill('first'), Array(100).fill('second')]);
});

test('objects in a cyclic API have only their first, shortest name', async () => {
  const objects = Array.from(
    { length: 12 },
    (_, n) => ({ who: () => n }) as Record<string, unknown>,
  );
  for (const one of objects) for (const [n, other] of objects.entries()) one[`to${n}`] = other;
  const { run } = await bridged({ first: objects[0] as { to11: { who(): number } } });
  const answers = await run(({ host }) => [
    host.first.to11.who(),
    Object.keys(host.first.to11),
    Object.keys(host.first).length,
  ]);
  expect(answers).toEqual([11, ['who'], 12]);
});

test('an asynchronous batch settles after all its calls, with the first error in call order', async () => {
  let failFirst: (error: Error) => void = () => {};
  let done = false;
  const { run } = await bridged({
    first: () =>
      new Promise<never>((_, reject) => {
        failFirst = reject;
      }),
    second: () => {
      throw new Error('second');
    },
    async third() {
      await new Promise((resolve) => setTimeout(resolve, 1));
      failFirst(new Error('first'));
      await new Promise((resolve) => setTimeout(resolve, 1));
      done = true;
    },
    isDone: () => done,
  });
  const [error, isDone] = await run(async ({ host, caught }) => [
    await caught(() => host.async.batch((calls) => [calls.first(), calls.second(), calls.third()])),
    host.isDone(),
  ]);
  expect(error).toMatchObject({ message: 'first' });
  expect(isDone).toBe(true);
});
