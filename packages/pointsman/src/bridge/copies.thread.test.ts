/** Each call gets its own copy of its arguments, and each caller its own copy of the result. */
import { describe, expect, test } from 'vitest';
import { bridged, transports } from '../../tests/bridge/threads.js';

const reasonOf = (promise: Promise<unknown>) =>
  promise.then(
    (value) => expect.unreachable(`there is ${value}`),
    (error: unknown) => error,
  );

describe.each(transports)('%s', (transport) => {
  const cache = { hits: 0 };
  const start = () =>
    bridged(
      {
        increase: (value: { n: number }) => ++value.n,
        cached: () => Object.assign(cache, { hits: cache.hits + 1 }),
        call: (f: (value: { n: number }) => Promise<number>, value: { n: number }) =>
          Promise.all([f(value), f(value), f(value)]),
        size: (bytes: Uint8Array) => bytes.length,
        add: (a: number, b: number) => a + b,
      },
      {
        transport,
        serve: () => ({
          increase: (value: { n: number }) => ++value.n,
          size: (bytes: Uint8Array) => bytes.length,
          add: (a: number, b: number) => a + b,
        }),
      },
    );

  test('arguments in both directions, and those of a callback, are copied', async () => {
    const { bridge, run } = await start();
    expect(
      await run(({ host }) => {
        const value = { n: 0 };
        return Promise.all([1, 2, 3].map(() => host.async.increase(value)));
      }),
    ).toEqual([1, 1, 1]);
    const value = { n: 0 };
    const { worker } = bridge;
    expect(await Promise.all([1, 2, 3].map(() => worker.increase(value)))).toEqual([1, 1, 1]);
    const results = await run(({ host }) => host.async.call((given) => ++given.n, { n: 0 }));
    expect(results).toEqual([1, 1, 1]);
    expect(value.n).toBe(0);
  });

  test('a result is copied when the function returns', async () => {
    cache.hits = 0;
    const { run } = await start();
    const [hits, areDistinct] = await run(async ({ host }) => {
      const all = await Promise.all([1, 2, 3].map(() => host.async.cached()));
      return [all.map(({ hits }) => hits), new Set(all).size] as const;
    });
    expect(hits).toEqual([1, 2, 3]);
    expect(areDistinct).toBe(3);
  });

  test('only the call that passes detached bytes rejects', async () => {
    const { bridge, run } = await start();
    const results = await run(async ({ host, bridge, caught }) => {
      const bytes = new Uint8Array(4);
      const first = await host.async.size(bridge.transfer(bytes, [bytes.buffer]));
      const again = () => host.async.size(bridge.transfer(bytes, [bytes.buffer]));
      const later = [caught(again), host.async.add(1, 2), caught(() => host.async.size(bytes))];
      return [first, ...(await Promise.all(later)), await host.async.add(3, 4)];
    });
    const refused = {
      name: 'DataCloneError',
      message: expect.stringMatching(
        /^value.* cannot be cloned: it is a buffer that was moved before$/,
      ),
    };
    expect(results).toMatchObject([4, refused, 3, refused, 7]);
    const bytes = new Uint8Array(4);
    structuredClone(bytes, { transfer: [bytes.buffer] });
    const { worker } = bridge;
    const [first, second] = await Promise.allSettled([worker.size(bytes), worker.add(1, 2)]);
    expect(first).toMatchObject({ reason: refused });
    expect(second).toMatchObject({ value: 3 });
  });

  test('only the call that passes a too deep value rejects, with the depth', async () => {
    const { bridge } = await start();
    let value: unknown = 0;
    for (let level = 0; level < 3_000; level++) value = { value };
    expect(await reasonOf(bridge.worker.increase(value as never))).toMatchObject({
      name: 'DataCloneError',
      message: expect.stringMatching(/nested .* levels deep/),
    });
    expect(await bridge.worker.add(1, 2)).toBe(3);
  });
});
