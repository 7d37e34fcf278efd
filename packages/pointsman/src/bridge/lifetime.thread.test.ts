/** The lifetime of threads in Node and compatible runtimes. A browser's worker lives until it is terminated. */
import { nextMacrotask } from '@pointsman/spec';
import { expect, test } from 'vitest';
import { type Bridged, bridged, inNode, transports } from '../../tests/bridge/threads.js';

/** Lets the thread end by itself. Resolves with its exit code. */
async function letGo({ thread, run }: Bridged<object, unknown>): Promise<number> {
  await run(({ scope }) => scope.letGo());
  return thread.ended;
}

test.skipIf(!inNode)('a thread that serves no functions ends by itself', async () => {
  const all = await bridged({ add: (a: number, b: number) => a + b });
  expect(await all.run(({ host }) => host.add(1, 2))).toBe(3);
  expect(await letGo(all as never)).toBe(0);
  expect(await all.bridge.ended).toBe('the worker has ended');
});

test.skipIf(!inNode).each(transports)(
  'a thread that serves functions lives until the bridge is closed: %s',
  async (transport) => {
    const all = await bridged({}, { transport, serve: () => ({ double: (n: number) => 2 * n }) });
    let over = false;
    const ended = letGo(all as never).finally(() => {
      over = true;
    });
    for (let n = 0; n < 20; n++) {
      await nextMacrotask();
      expect(await all.bridge.worker.double(n)).toBe(2 * n);
    }
    expect(over).toBe(false);
    all.bridge.close();
    expect(await ended).toBe(0);
  },
);

test.skipIf(!inNode).each(transports)(
  'a thread lives until its pending call has a reply: %s',
  async (transport) => {
    let answer: (() => void) | undefined;
    const said: unknown[] = [];
    const all = await bridged(
      {
        hold: () =>
          new Promise<string>((resolve) => {
            answer = () => resolve('the answer');
          }),
        say: (what: unknown) => void said.push(what),
      },
      { transport },
    );
    await all.run(({ host }) => {
      void host.async.hold().then((what) => host.async.say(what));
    });
    const ended = letGo(all as never);
    while (answer === undefined) await nextMacrotask();
    for (let n = 0; n < 20; n++) await nextMacrotask();
    answer();
    await ended;
    expect(said).toEqual(['the answer']);
  },
);
