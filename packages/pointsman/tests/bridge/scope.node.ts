/** Where a thread of Node hears of its test. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort } from 'node:worker_threads';
import type { Scope } from './thread.js';

export const scope: Scope = {
  listen: (listener) => parentPort?.on('message', listener),
  post: (message) => parentPort?.postMessage(message),
  letGo: () => parentPort?.unref(),
  collectGarbage() {
    setFlagsFromString('--expose-gc');
    runInNewContext('gc')();
  },
};
