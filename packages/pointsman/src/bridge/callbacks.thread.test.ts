/** Functions as arguments and results run in the thread that passed them. */
import { describe, expect, test } from 'vitest';
import { bridged, ringSizes, useBridge } from '../../tests/bridge/threads.js';

type Callback = (...args: never[]) => unknown;

function makeApi() {
  const kept: unknown[] = [];
  return {
    callNow: async (f: (n: number) => Promise<unknown>, n: number) => f(n),
    callMany: async (f: (n: number) => Promise<number>, times: number) => {
      let sum = 0;
      for (let n = 0; n < times; n++) sum += await f(n);
      return sum;
    },
    same: (one: unknown, other: unknown) => one === other,
    keep(f: unknown) {
      kept.push(f);
      return kept.length;
    },
    back: () => kept.at(-1),
    sameAsKept: (f: unknown) => f === kept.at(-1),
    inside: async ({ on }: { on: { done: (what: string) => Promise<string> }[] }) =>
      Promise.all(on.map((one, n) => one.done(`number ${n}`))),
    make: (by: number) => (n: number) => n * by,
    deeper: async (level: number, call: (level: number) => Promise<unknown>) => call(level - 1),
    add: (a: number, b: number) => a + b,
    own: () => own,
    isOwn: (f: unknown) => f === own,
  };
}
const own = () => 'own';

describe.each(ringSizes)('%s', (_, config) => {
  const all = useBridge(makeApi(), {
    ...config,
    serve: () => ({
      use: (f: (n: number) => Promise<number>) => f(20),
      make: (by: number) => (n: number) => n * by,
    }),
  });

  test('the host calls a callback of a blocked thread', async () => {
    const answers = await all.run(({ host }) => {
      const seen: number[] = [];
      const answer = host.callNow((n) => {
        seen.push(n);
        return n * 10;
      }, 4);
      return [answer, seen, host.callMany((n) => n * 2, 100)];
    });
    expect(answers).toEqual([40, [4], 9_900]);
  });

  test('a callback is not called as a method', async () => {
    const isMethod = await all.run(({ host }) =>
      host.async.callNow(
        function (this: unknown) {
          return Object.hasOwn(Object(this), 'count');
        } as never,
        1,
      ),
    );
    expect(isMethod).toBe(false);
  });

  test('the host calls a callback of an unblocked thread', async () => {
    const answers = await all.run(async ({ host }) => [
      await host.async.callNow((n) => n + 1, 1),
      await host.async.callNow(async (n) => {
        await null;
        return n + 2;
      }, 1),
    ]);
    expect(answers).toEqual([2, 3]);
  });

  test('an error of a callback reaches the host, and then its caller', async () => {
    const caught = await all.run(async ({ host, caught }) => {
      const fails = () => {
        throw new RangeError('in the callback');
      };
      return [
        await caught(() => host.callNow(fails, 1)),
        await caught(() => host.async.callNow(fails, 1)),
      ];
    });
    const one = { name: 'RangeError', message: 'in the callback' };
    expect(caught).toMatchObject([one, one]);
  });

  test('a callback may make blocking calls, several levels deep', async () => {
    const answers = await all.run(({ host }) => {
      const order: string[] = [];
      const go = (level: number): unknown => {
        order.push(`in ${level}`);
        const answer = level === 0 ? host.add(20, 1) : host.deeper(level, go as never);
        order.push(`out ${level}`);
        return answer;
      };
      return [go(5), order];
    });
    const levels = [5, 4, 3, 2, 1, 0];
    const order = [
      ...levels.map((level) => `in ${level}`),
      ...levels.reverse().map((level) => `out ${level}`),
    ];
    expect(answers).toEqual([21, order]);
  });

  test('a reply to an outer call that arrives during an inner call is kept', async () => {
    const answer = await all.run(({ host }) =>
      host.batch((calls) => [
        calls.add(1, 1),
        calls.callNow(((n: number) => host.add(n, 5)) as never, 10),
        calls.add(2, 2),
      ]),
    );
    expect(answer).toEqual([2, 15, 4]);
  });

  test('a function that is passed twice arrives as the same function', async () => {
    const answers = await all.run(async ({ host }) => {
      const f = () => 1;
      const other = () => 1;
      host.keep(f);
      return [
        host.same(f, f),
        host.same(f, other),
        host.sameAsKept(f),
        host.sameAsKept(other),
        await host.async.sameAsKept(f),
      ];
    });
    expect(answers).toEqual([true, false, true, false, true]);
  });

  test('a function that is passed back is the original', async () => {
    const answers = await all.run(async ({ host }) => {
      const f = () => 1;
      host.keep(f);
      const theirs = host.own() as Callback;
      return [
        host.back() === f,
        (await host.async.back()) === f,
        theirs === host.own(),
        host.isOwn(theirs),
      ];
    });
    expect(answers).toEqual([true, true, true, true]);
  });

  test('functions inside values', async () => {
    const answers = await all.run(({ host }) =>
      host.inside({
        on: [{ done: (what: string) => `${what} done` }, { done: (what: string) => what }] as never,
      }),
    );
    expect(answers).toEqual(['number 0 done', 'number 1']);
  });

  test('a result may be a function', async () => {
    const answers = await all.run(async ({ host }) => {
      const triple = host.make(3);
      const double = (await host.async.make(2)) as (n: number) => Promise<number>;
      return [triple(5) instanceof Promise, await triple(5), await double(5)];
    });
    expect(answers).toEqual([true, 15, 10]);
  });

  test('functions from the host to the worker', async () => {
    const { worker } = all.bridge;
    expect(await worker.use(async (n) => n + 1)).toBe(21);
    expect(await worker.use(((n: number) => n + 2) as never)).toBe(22);
    const triple = await worker.make(3);
    expect(await triple(5)).toBe(15);
  });
});

test('a blocked thread sends the reply of a callback although an earlier frame waits for space', async () => {
  type WorkerApi = { back(bytes: Uint8Array): Uint8Array };
  const { run, bridge } = await bridged<object, WorkerApi>(
    {
      async ask(f: (n: number) => Promise<number>) {
        const large = bridge.worker.back(new Uint8Array(50_000));
        const answer = await f(1);
        return [answer, (await large).length];
      },
    },
    { bufferSize: 4096, serve: () => ({ back: (bytes: Uint8Array) => bytes }) },
  );
  const answers = await run(({ host }) =>
    (host as unknown as { ask(f: (n: number) => number): unknown }).ask((n) => n + 1),
  );
  expect(answers).toEqual([2, 50_000]);
});
