/**
 * Node, Bun and Deno. A worker reaches its host through `parentPort`, except a Web Worker in Deno, which has none and
 * uses `postMessage` as in a browser. The existence of `postMessage` proves nothing: Bun defines it in every thread.
 */

import { AsyncResource } from 'node:async_hooks';
import { type MessagePort, parentPort, receiveMessageOnPort } from 'node:worker_threads';
import { type Port, platform, usePlatform } from './platform.js';

const isWebWorker = 'WorkerGlobalScope' in globalThis;

usePlatform({
  host: (parentPort as Port | null) ?? (isWebWorker ? platform.host : undefined),
  // Deno reads each byte of a transferred buffer.
  movesBytes: !('Deno' in globalThis),
  readsEachElement: 'Deno' in globalThis,
  captureContext() {
    // Cheaper than `AsyncLocalStorage.snapshot`, which in Node 20 also binds a function.
    const resource = new AsyncResource('pointsman', { requireManualDestroy: true });
    return (work) => resource.runInAsyncScope(work);
  },
  receive: (port) => receiveMessageOnPort(port as unknown as MessagePort),
});
