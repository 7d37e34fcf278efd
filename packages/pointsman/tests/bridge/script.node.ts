/** The script of the threads under vitest: bundled when the first thread starts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { bundleThread } from '../runtimes/dist/bundle.js';

let bundled: Promise<string> | undefined;

async function bundle(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-thread-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'thread.mjs');
  await bundleThread('node', path);
  return path;
}

afterAll(async () => {
  if (bundled) rmSync(await bundled, { force: true });
  bundled = undefined;
});

export function script(): Promise<string> {
  bundled ??= bundle();
  return bundled;
}
