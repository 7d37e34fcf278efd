/** An idle bridge in Node uses no timers, and a bundled bridge works. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { nextMacrotask } from '@pointsman/spec';
import { build } from 'esbuild';
import { expect, onTestFinished, test } from 'vitest';
import { bridged } from '../../tests/bridge/threads.js';
import { expose } from './index.js';

test('an idle bridge has no timer and does not poll', async () => {
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

test('a bundled worker works in Node', async () => {
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
