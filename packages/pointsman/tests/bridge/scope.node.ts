/** The connection of a thread to its test in Node and compatible runtimes. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort } from 'node:worker_threads';
import { scope as web } from './scope.web.js';
import type { Scope } from './thread.js';

/** A Web Worker of Deno has no `parentPort`. */
export const scope: Scope = parentPort
  ? {
      listen: (listener) => parentPort?.on('message', listener),
      post: (message) => parentPort?.postMessage(message),
      letGo: () => parentPort?.unref(),
      collectGarbage() {
        setFlagsFromString('--expose-gc');
        runInNewContext('gc')();
      },
    }
  : web;
