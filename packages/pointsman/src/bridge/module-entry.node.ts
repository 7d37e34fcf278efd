/**
 * The script of a worker that `connectSync` starts: serves the exports of a module.
 *
 * Invariant: the host, which is blocked, learns why this thread ends, unless it is terminated from outside or runs out
 * of memory: while the module loads by a message, later by the reason for which the bridge is closed.
 */

import '../transport/platform.node.js';
import { describe } from '../sync/errors.js';
import { takeApart } from '../transport/error-values.js';
import { functionsOf, withDefault } from '../transport/functions.js';
import { toPlainError } from '../transport/outcome.js';
import { listen, type Port, platform } from '../transport/platform.js';
import type { LoadFailure, ModuleHello } from './connect-sync.js';
import { type Exposed, exposeFunctions } from './host.js';
import { message, messageOf, ring } from './offer.js';
import { reserved } from './types.js';

const host = platform.host as Port;
const stopListening = listen(host, (data) => {
  const received = messageOf(data);
  if (received?.[2] !== 'hello') return;
  stopListening();
  void serveModule(received[3] as ModuleHello);
});

async function serveModule({ port, bell, module, options }: ModuleHello): Promise<void> {
  let bridge: Exposed<object> | undefined;
  const failed = (failure: LoadFailure) => {
    port.postMessage(message(0, 'failed', failure));
    ring(bell);
  };
  const threw = (error: unknown) => {
    if (bridge) bridge.close(error);
    else failed(failureOf(error));
  };
  process.on('uncaughtExceptionMonitor', (error) => {
    // The thread survives an error that the module handles.
    if (process.listenerCount('uncaughtException') > 0) return;
    if (process.hasUncaughtExceptionCaptureCallback?.()) return;
    threw(error);
  });
  process.on('exit', (code) => {
    const text = `the worker has exited with code ${code}`;
    if (bridge) bridge.close(text);
    else failed({ text });
  });
  try {
    // Bundlers must leave the import as it is: the URL is known at run time.
    const namespace = await import(/* webpackIgnore: true */ /* @vite-ignore */ module);
    const functions = withDefault(functionsOf(namespace, 'module', reserved), reserved);
    bridge = exposeFunctions(port, functions, options);
    ring(bell);
  } catch (error) {
    // Bun has no `uncaughtExceptionMonitor` for a rejected promise.
    threw(error);
    throw error;
  }
}

function failureOf(error: unknown): LoadFailure {
  const isError = error instanceof Error;
  const message = isError ? toPlainError(error).message : `it has thrown ${describe(error)}`;
  const text = `the worker has failed: ${message}`;
  return { text, error: takeApart(isError ? error : new Error(message), isUncloneable) };
}

function isUncloneable(value: unknown): boolean {
  try {
    structuredClone(value);
    return false;
  } catch {
    return true;
  }
}
