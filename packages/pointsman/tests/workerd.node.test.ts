/** The Node features of the built package in workerd with `nodejs_compat`. The other workerd tests run without it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, onTestFinished, test } from 'vitest';
import { serve, workerd } from './runtimes/workerd.js';

const worker = `
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Mutex } from 'pointsman';
import { snapshot, watched } from 'pointsman/diagnostics';

export default {
  async fetch() {
    const log = [];
    const listener = ({ operation }, name) => log.push([name, operation]);
    const names = ['pointsman:acquire', 'pointsman:release'];
    const mutex = watched(new Mutex());
    mutex.tryLock().release();
    for (const name of names) subscribe(name, listener);
    const lock = await mutex.lock();
    lock.release();
    for (const name of names) unsubscribe(name, listener);
    mutex.tryLock().release();
    return new Response(JSON.stringify(log));
  },
};
`;

test('with nodejs_compat, diagnostics_channel gets the events', async () => {
  const found = workerd.find();
  if (!('path' in found) || found.path === undefined) throw new Error('workerd is missing');
  const folder = await mkdtemp(join(tmpdir(), 'pointsman-workerd-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const bundle = join(folder, 'worker.js');
  await build({
    stdin: { contents: worker, resolveDir: fileURLToPath(new URL('.', import.meta.url)) },
    bundle: true,
    conditions: ['workerd'],
    external: ['node:*'],
    format: 'esm',
    outfile: bundle,
    platform: 'neutral',
  });
  const lines: string[] = [];
  await serve(found.path, bundle, (line) => lines.push(line), ['nodejs_compat']);
  expect(JSON.parse(lines.join('\n'))).toEqual([
    ['pointsman:acquire', 'lock'],
    ['pointsman:release', 'lock'],
  ]);
});
