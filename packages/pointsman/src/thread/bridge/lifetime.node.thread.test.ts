/** How long a thread of Node lives, and that a bridge with nothing to do does nothing. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { nextMacrotask } from '@pointsman/spec';
import { build } from 'esbuild';
import { expect, onTestFinished, test } from 'vitest';
import { type Bridged, bridged } from '../../../tests/bridge/threads.js';
import { expose } from './index.js';

/** Its test says nothing to the thread any more; when it has ended. */
async function letGo({ thread, run }: Bridged<object, unknown>): Promise<unknown> {
  const ended = once(thread.worker as Worker, 'exit');
  await run(({ scope }) => scope.letGo());
  return ended;
}

test('a thread that serves nothing ends by itself', async () => {
  const all = await bridged({ add: (a: number, b: number) => a + b });
  expect(await all.run(({ host }) => host.add(1, 2))).toBe(3);
  expect(await letGo(all as never)).toEqual([0]);
  expect(await all.bridge.closed).toBe('the worker has ended');
});

test.each(['ring', 'port/port'] as const)(
  'a thread that serves something lives until the bridge is closed: %s',
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
    expect(await ended).toEqual([0]);
  },
);

test.each(['ring', 'port/port'] as const)(
  'a thread lives until it has its answer: %s',
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

test('a bridge with nothing to do has no timer and does not poll', async () => {
  const ticking = () =>
    process.getActiveResourcesInfo().filter((name) => /Timeout|Immediate/.test(name)).length;
  const before = ticking();
  const all = await bridged(
    { add: (a: number, b: number) => a + b },
    { serve: () => ({ double: (n: number) => 2 * n }) },
  );
  await all.run(({ host }) => {
    for (let n = 0; n < 1_000; n++) host.add(n, 1);
  });
  await all.bridge.worker.double(1);
  await nextMacrotask();
  await nextMacrotask();
  expect(ticking()).toBeLessThanOrEqual(before);
  const there = await all.run(async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return process.getActiveResourcesInfo();
  });
  expect(there.filter((name) => /Timeout|Immediate/.test(name))).toEqual([]);
});

test('a bundler leaves in what the bridge needs in Node', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-bundled-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const outfile = join(folder, 'worker.mjs');
  await build({
    stdin: {
      contents: `import { connect } from './index.node.js'; connect({ serve: { ping: () => 'pong' } });`,
      resolveDir: fileURLToPath(new URL('.', import.meta.url)),
    },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  });
  const bridge = expose<{ ping(): string }>(new Worker(outfile), {});
  await bridge.ready;
  expect(await bridge.worker.ping()).toBe('pong');
  bridge.close();
});
