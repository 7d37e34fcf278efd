/** How a thread of a pool begins: it is told what to run and says what it can. */

import { functionsOf } from '../bridge/calls.js';
import { structured } from '../bridge/codec/structured.js';
import { Connection, message, messageOf } from '../bridge/connection.js';
import { invalid } from '../sync/errors.js';
import { holdLock } from '../transport/lock.js';
import { toPlainError } from '../transport/outcome.js';
import { listen, type Port, platform } from '../transport/platform.js';
import { Claims, unsharedMemory } from './claims.js';
import { poolPlatform } from './platform.js';
import type { CompleteSetup } from './protocol.js';
import { Runner } from './runner.js';

/** Names that a pool's functions cannot have. A promise would take what has them for a promise. */
const refused = ['then'];

/**
 * Serves functions to a pool that was made with `worker`: in a script of one's own, which bundlers
 * understand. A pool that was made with `module` needs no such script.
 *
 * A function may return a promise or an iterator; what it throws is thrown for whoever has run it. One
 * task runs at a time. Functions of objects are named with dots: `images.resize`. Call it before the first
 * `await` of the script. Throws in a thread that nobody has made a worker.
 *
 * ```js
 * // resize.worker.js
 * import { serve } from 'pointsman/pool';
 * serve({ resize(image, width) { return scaled(image, width); } });
 * ```
 */
export function serve(functions: object): void {
  if (Object(functions) !== functions)
    throw invalid('functions', functions, 'an object of functions');
  // What a bundler makes of a module has getters in place of its exports.
  const isPlain = Object.getPrototypeOf(functions) === Object.prototype;
  const runnable = functionsOf(isPlain ? { ...functions } : functions, 'functions', refused);
  begin(async () => runnable);
}

/** Serves what the module exports that the host names; nothing if it names none. */
export function serveModule(): void {
  begin(async (module) => {
    if (module === undefined) return [];
    return functionsOf(await import(module), 'module', refused);
  });
}

function begin(
  load: (module: string | undefined) => Promise<ReturnType<typeof functionsOf>>,
): void {
  const host = platform.host;
  if (host === undefined) {
    throw new Error('serve is for the threads of a pool: nobody has made this thread a worker');
  }
  const stopListening = listen(host, (data) => {
    const received = messageOf(data);
    if (received?.[2] !== 'setup') return;
    stopListening();
    void run(host, received[3] as CompleteSetup, load);
  });
}

async function run(
  host: Port,
  { module, nice, heap, offer, claims }: CompleteSetup,
  load: (module: string | undefined) => Promise<ReturnType<typeof functionsOf>>,
): Promise<void> {
  const say = (type: string, payload?: unknown) =>
    offer.port.postMessage(message(offer.id, type, payload));
  const sayError = (type: string, error: unknown) => {
    try {
      say(type, error);
    } catch {
      say(type, toPlainError(error));
    }
  };
  poolPlatform.yieldTo?.(nice);
  let functions: ReturnType<typeof functionsOf>;
  try {
    functions = await load(module);
  } catch (error) {
    sayError('refuse', error);
    return;
  }
  const runner = new Runner({
    claims: new Claims(claims ?? unsharedMemory()),
    functions,
    isSpent: () => heap !== undefined && (poolPlatform.heapUsed?.() ?? 0) > heap,
    report: (error) => sayError('uncaught', error),
    retire: () => say('retire'),
  });
  poolPlatform.onUncaught((error) => runner.failed(error));
  let end!: (reason: string) => void;
  const closed = new Promise<string>((resolve) => {
    end = resolve;
  });
  const connection = new Connection({
    role: 'worker',
    offer,
    port: offer.port,
    values: offer.values,
    base: host,
    codec: structured(),
    functions,
    schemas: new Map(),
    tasks: runner,
    ended: end,
  });
  runner.side = connection.side;
  if (platform.receive === undefined) await holdLock(offer.id, closed, () => say('alive'));
  connection.side.meet([]);
  say(
    'accept',
    functions.map(({ name }) => name),
  );
  connection.side.attend();
}
