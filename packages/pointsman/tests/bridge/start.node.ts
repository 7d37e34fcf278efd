/** Starts threads in Node, where the host needs the parts of the bridge that are for Node. */
import '../../src/thread/bridge/platform.node.js';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll } from 'vitest';
import { bundleThread } from '../runtimes/dist/bundle.js';
import type { Started } from './threads.js';

let script: Promise<string> | undefined;

async function bundled(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-thread-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'thread.mjs');
  await bundleThread('node', path);
  return path;
}

afterAll(async () => {
  if (script) rmSync(await script, { force: true });
  script = undefined;
});

/** A thread that runs the tests' functions. */
export async function start(): Promise<Started> {
  script ??= bundled();
  const worker = new Worker(await script);
  return {
    worker,
    listen: (listener) => worker.on('message', listener),
    post: (message, list) => worker.postMessage(message, list as never),
    terminate: () => void worker.terminate(),
  };
}

/** One whose script is not there. */
export function startNothing(): Started['worker'] {
  return new Worker('/there/is/no/such/file.mjs');
}
