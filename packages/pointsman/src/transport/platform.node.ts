/**
 * Node, and what behaves like it: a worker reaches its host by `parentPort`. A Web Worker of Deno has
 * none, and reaches it as in a browser. Bun has the `postMessage` of a worker everywhere, so that alone
 * says nothing.
 */

import { AsyncResource } from 'node:async_hooks';
import { type MessagePort, parentPort, receiveMessageOnPort } from 'node:worker_threads';
import { type Port, platform, usePlatform } from './platform.js';

const isWebWorker = 'WorkerGlobalScope' in globalThis;

usePlatform({
  host: (parentPort as Port | null) ?? (isWebWorker ? platform.host : undefined),
  // Deno looks at each byte of a buffer that moves.
  movesBytes: !('Deno' in globalThis),
  readsEachElement: 'Deno' in globalThis,
  captureContext() {
    // Takes an eighth of the time of `AsyncLocalStorage.snapshot`, which in Node 20 binds a function first.
    const resource = new AsyncResource('pointsman', { requireManualDestroy: true });
    return (work) => resource.runInAsyncScope(work);
  },
  receive: (port) => receiveMessageOnPort(port as unknown as MessagePort),
});
