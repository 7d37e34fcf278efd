/** How long a thread of Node lives, or of what behaves like it. A browser's lives until it is terminated. */
import { nextMacrotask } from '@pointsman/spec';
import { expect, test } from 'vitest';
import { type Bridged, bridged, inNode, ways } from '../../tests/bridge/threads.js';

/** Its test says nothing to the thread any more; when it has ended. */
async function letGo({ thread, run }: Bridged<object, unknown>): Promise<number> {
  await run(({ scope }) => scope.letGo());
  return thread.ended;
}

test.skipIf(!inNode)('a thread that serves nothing ends by itself', async () => {
  const all = await bridged({ add: (a: number, b: number) => a + b });
  expect(await all.run(({ host }) => host.add(1, 2))).toBe(3);
  expect(await letGo(all as never)).toBe(0);
  expect(await all.bridge.ended).toBe('the worker has ended');
});

test.skipIf(!inNode).each(ways)(
  'a thread that serves something lives until the bridge is closed: %s',
  async (way) => {
    const all = await bridged({}, { way, serve: () => ({ double: (n: number) => 2 * n }) });
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

test.skipIf(!inNode).each(ways)('a thread lives until it has its answer: %s', async (way) => {
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
    { way },
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
});
