/** Transferred values: detached on the sending side, usable on the receiving side. */
import { describe, expect, test } from 'vitest';
import { pattern } from '../../tests/bridge/pattern.js';
import { bridged, inNode, type Tools, transports, until } from '../../tests/bridge/threads.js';
import { transfer } from './index.js';

function makeApi() {
  const made: ArrayBuffer[] = [];
  const received: unknown[] = [];
  const make = (size: number) => {
    const { buffer } = pattern(size) as Uint8Array<ArrayBuffer>;
    made.push(buffer);
    return transfer(buffer, [buffer]);
  };
  return {
    made,
    received,
    api: {
      size: (buffer: ArrayBuffer) => buffer.byteLength,
      sum: (given: { parts: ArrayBuffer[]; by: number }) =>
        given.parts.reduce((sum, part) => sum + part.byteLength, 0) * given.by,
      attach(port: MessagePort) {
        port.onmessage = ({ data }) => {
          received.push(data);
          port.postMessage(`${data} received`);
          port.close();
        };
      },
      make,
      makeLater: async (size: number) => make(size),
      makeNamed: (size: number) => ({ name: 'named', buffer: make(size) }),
      makePort: () => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = ({ data }) => {
          port1.postMessage(`${data} back`);
          port1.close();
        };
        return transfer(port2, [port2]);
      },
      add: (a: number, b: number) => a + b,
    },
  };
}

describe.each(transports)('%s', (transport) => {
  const blocks = transport !== 'messages';

  test('a buffer that the worker transfers is detached there', async () => {
    const { run } = await bridged(makeApi().api, { transport });
    const sizes = await run(async ({ host, bridge: { transfer } }, blocks) => {
      const first = new ArrayBuffer(1_000_000);
      const second = new ArrayBuffer(10);
      const third = new ArrayBuffer(20);
      const answers = [await host.async.size(transfer(first, [first]))];
      const parts = transfer([second, third], [second, third]);
      const given = { parts: parts as never, by: 2 };
      answers.push(blocks ? host.sum(given) : await host.async.sum(given));
      return [...answers, first.byteLength, second.byteLength, third.byteLength];
    }, blocks);
    expect(sizes).toEqual([1_000_000, 60, 0, 0, 0]);
  });

  test('a buffer that the host transfers is detached there', async () => {
    const { run, bridge } = await bridged(makeApi().api, {
      transport,
      serve: () => ({ size: (buffer: ArrayBuffer) => buffer.byteLength }),
    });
    const buffer = new ArrayBuffer(1_000);
    expect(await bridge.worker.size(transfer(buffer, [buffer]))).toBe(1_000);
    expect(buffer.byteLength).toBe(0);
    expect(await run(({ host }) => host.async.add(1, 1))).toBe(2);
  });

  test('a transferred port works', async () => {
    const { api, received } = makeApi();
    const { run } = await bridged(api, { transport });
    const answer = await run(async ({ host, bridge: { transfer } }) => {
      const { port1, port2 } = new MessageChannel();
      const answer = new Promise((resolve) => {
        port1.onmessage = ({ data }) => resolve(data);
      });
      await host.async.attach(transfer(port2, [port2]));
      port1.postMessage('a message');
      return answer;
    });
    expect(answer).toBe('a message received');
    await until(() => received.length > 0);
    expect(received).toEqual(['a message']);
  });

  test('a result is transferred to an asynchronous caller', async () => {
    const { api, made } = makeApi();
    const { run } = await bridged(api, { transport });
    const results = await run(async ({ host, isPattern }) => {
      const buffers = await Promise.all([
        host.async.make(5_000),
        host.async.makeLater(6_000),
        host.async.make(7),
      ]);
      const { name, buffer } = await host.async.makeNamed(8_000);
      const sizes = [...buffers, buffer as unknown as ArrayBuffer].map((one) => one.byteLength);
      const [first] = buffers;
      return [isPattern(new Uint8Array(first), 5_000), sizes, name];
    });
    expect(results).toEqual([true, [5_000, 6_000, 7, 8_000], 'named']);
    expect(made.map(({ byteLength }) => byteLength)).toEqual([0, 0, 0, 0]);
  });

  test('concurrent transferred results are not mixed up', async () => {
    const { run } = await bridged(makeApi().api, { transport });
    // If a blocked thread receives no messages, none may be pending when it blocks.
    const wrong = await run(async ({ host }, blocks) => {
      const wrong: number[][] = [];
      for (let n = 1; n <= 300; n++) {
        const calls = [host.async.make(n), host.async.makeLater(n + 1), host.async.make(n + 2)];
        // The next call overlaps the earlier ones in all stages.
        if (n % 3 > 0) await calls[n % 2];
        const last = blocks ? host.make(n + 3) : await host.async.make(n + 3);
        const sizes = [...(await Promise.all(calls)), last].map(({ byteLength }) => byteLength - n);
        if (String(sizes) !== '0,1,2,3') wrong.push(sizes);
      }
      return wrong;
    }, blocks && inNode);
    expect(wrong).toEqual([]);
  });

  test('transferred values arrive although the bridge is closed right after', async () => {
    const sizes: number[] = [];
    const take = (buffer: ArrayBuffer) => void sizes.push(buffer.byteLength);
    const serve = ({ kept }: Tools) => {
      const taken: number[] = [];
      kept.taken = taken;
      return { take: (buffer: ArrayBuffer) => void taken.push(buffer.byteLength) };
    };
    const expected = Array.from({ length: 20 }, (_, n) => n);

    const up = await bridged({ take }, { transport });
    await up.run(({ host, bridge: { transfer } }) => {
      for (let n = 0; n < 20; n++) {
        const buffer = new ArrayBuffer(n);
        host.send.take(transfer(buffer, [buffer]));
      }
      host.close();
    });
    await up.bridge.ended;
    expect(sizes).toEqual(expected);

    const down = await bridged({}, { transport, serve });
    for (const n of expected) {
      const buffer = new ArrayBuffer(n);
      down.bridge.worker.take(transfer(buffer, [buffer])).catch(() => {});
    }
    down.bridge.close();
    const taken = await down.run(async ({ host, kept }) => {
      await host.ended;
      return kept.taken;
    });
    expect(taken).toEqual(expected);
  });

  test('a port as a result', async () => {
    const { run } = await bridged(makeApi().api, { transport });
    const answer = await run(async ({ host }) => {
      const port = await host.async.makePort();
      const answer = new Promise((resolve) => {
        port.onmessage = ({ data }) => resolve(data);
      });
      port.postMessage('there and');
      return answer;
    });
    expect(answer).toBe('there and back');
  });

  test.skipIf(!blocks)(
    `a result ${inNode ? 'moves' : 'is copied'} to a caller that blocks`,
    async () => {
      const { api, made } = makeApi();
      const { run } = await bridged(api, { transport });
      const results = await run(({ host, isPattern }) => [
        isPattern(new Uint8Array(host.make(5_000)), 5_000),
        isPattern(new Uint8Array(host.makeLater(6_000)), 6_000),
        host.batch((calls) => [calls.make(7), calls.add(1, 2)])[0]?.byteLength,
        host.add(1, 1),
      ]);
      expect(results).toEqual([true, true, 7, 2]);
      const sizes = made.map(({ byteLength }) => byteLength);
      expect(sizes).toEqual(inNode ? [0, 0, 0] : [5_000, 6_000, 7]);
    },
  );
});

test('a value that cannot be transferred is rejected, and the bridge keeps working', async () => {
  const { run } = await bridged(makeApi().api);
  const caught = await run(async ({ host, caught, bridge: { transfer } }) => {
    const twice = new ArrayBuffer(10);
    return [
      await caught(() => host.size(transfer((() => {}) as never, []))),
      host.add(1, 1),
      await caught(() => host.sum({ by: 2, parts: transfer((() => {}) as never, []) as never })),
      host.sum({ by: 2, parts: [new ArrayBuffer(3)] }),
      await caught(() => host.async.size(transfer((() => {}) as never, []))),
      await host.async.add(1, 2),
      await caught(() => host.size(transfer(twice, [twice, twice]))),
      host.size(transfer(twice, [twice])),
      host.add(2, 2),
    ];
  });
  const refused = { name: 'DataCloneError' };
  expect(caught).toMatchObject([refused, 2, refused, 6, refused, 3, refused, 10, 4]);
});

test.skipIf(inNode)(
  'a blocking call in a browser fails if its result must be transferred',
  async () => {
    const { run } = await bridged(makeApi().api);
    const caught = await run(async ({ host, caught }) => [
      await caught(() => host.makePort()),
      await caught(() => host.makeNamed(5)),
      host.add(1, 1),
    ]);
    expect(caught).toMatchObject([
      { name: 'DataCloneError' },
      {
        name: 'BridgeStateError',
        message: expect.stringMatching(/^makeNamed\(\) .* through async/),
      },
      2,
    ]);
  },
);
