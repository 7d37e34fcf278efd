/** The script of the threads under vitest: bundled when the first thread starts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleThread } from '../runtimes/dist/bundle.js';

let bundled: Promise<string> | undefined;

async function bundle(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-pool-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'pool.mjs');
  await bundleThread('node', path, 'pool');
  return path;
}

export function script(): Promise<string> {
  bundled ??= bundle();
  return bundled;
}
