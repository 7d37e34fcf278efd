/** The start of a worker: it receives its setup, loads its functions and reports their names. */

import { STRIDE } from '../transport/batches.js';
import { Endpoint, kindOf } from '../transport/endpoint.js';
import { functionsOf, type NamedFunction, withDefault } from '../transport/functions.js';
import { holdLock } from '../transport/lock.js';
import { listen, type Port, platform } from '../transport/platform.js';
import { Claims } from './claims.js';
import { Inbox } from './inbox.js';
import { Mailbox, WORTH_SPINNING } from './mailbox.js';
import { poolPlatform } from './platform.js';
import type { CompleteSetup, WireOptions } from './protocol.js';
import * as protocol from './protocol.js';
import { Runner } from './runner.js';

/** Names that functions cannot have: `await` would treat `pool.proxy` as a thenable. */
const refused = ['then'];

/**
 * Serves functions to a pool that has the `worker` option, in a script of your own that a bundler can see. A pool with
 * the `module` option needs no such script.
 *
 * A function may return a promise or an iterator. An error that it throws rejects the promise of `run`. One task runs
 * at a time. A function of a nested object has a dotted name, such as `images.resize`; `functions` may be a module
 * namespace. Call `serve` before the first `await` of the script. Throws in the main thread.
 *
 * ```js
 * // resize.worker.js
 * import { serve } from 'pointsman/pool';
 * serve({ resize(image, width) { return scaled(image, width); } });
 * ```
 */
export function serve(functions: object): void {
  const served = functionsOf(functions, 'functions', refused);
  begin(async () => served);
}

/** Serves the exports of the module that the host names; no functions if it names none. */
export function serveModule(): void {
  begin(async (module) => {
    if (module === undefined) return [];
    // Bundlers must leave the import as it is: the URL is known at run time.
    const namespace = await import(/* webpackIgnore: true */ /* @vite-ignore */ module);
    return withDefault(functionsOf(namespace, 'module', refused), refused);
  });
}

function begin(load: (module: string | undefined) => Promise<readonly NamedFunction[]>): void {
  const host = platform.host;
  if (host === undefined) {
    throw new Error('serve must be called in a worker thread of a pool, not in the main thread');
  }
  const stopListening = listen(host, (data) => {
    if (!Array.isArray(data) || data[0] !== protocol.SETUP) return;
    stopListening();
    void run(host, data[1] as CompleteSetup, load);
  });
}

async function run(
  host: Port,
  { id: workerId, port, memory, module, nice, heap, polls, spins }: CompleteSetup,
  load: (module: string | undefined) => Promise<readonly NamedFunction[]>,
): Promise<void> {
  const mailbox = memory && new Mailbox(memory, Claims.BYTES, 'worker');
  const inNode = platform.receive !== undefined;
  const endpoint = new Endpoint({
    post(records, transfer) {
      if (inNode) port.postMessage(records, transfer);
      // In Firefox a port delivers no messages of a worker until the worker returns to its event loop.
      else host.postMessage([protocol.BATCH, workerId, records], transfer as never);
      mailbox?.posted();
    },
    handle(kind, number, a, b, c) {
      if (kind === protocol.TASK) {
        runner?.take(number, a as number, b as readonly unknown[], c as WireOptions | undefined);
      } else if (kind === protocol.STOP) runner?.stop(number, b);
      else if (kind === protocol.DEFINE) runner?.define(number, b as protocol.Definition);
    },
    unreadable(kind, number, error) {
      if (kind === protocol.TASK) runner?.refuse(number, error);
      else if (kind === protocol.STOP) runner?.stop(number, error);
      else if (kind === protocol.DEFINE) runner?.defineUnreadable(number, error);
    },
    unanswered: (name, why) => new Error(`${name} has no answer: ${why}`),
  });
  const say = (kind: number, value?: unknown) => endpoint.send(kind, 0, undefined, value);
  poolPlatform.setPriority?.(nice);
  let served: readonly NamedFunction[];
  try {
    served = await load(module);
  } catch (error) {
    endpoint.sendError(protocol.REFUSED, 0, error);
    return;
  }
  const runner: Runner = new Runner(
    {
      send(kind, number, a, b, c) {
        try {
          endpoint.send(kind, number, a, b, c);
        } catch (error) {
          endpoint.sendError(protocol.THREW, number, error, a, c);
        }
      },
      sendError: (kind, number, error, a, c) => endpoint.sendError(kind, number, error, a, c),
      flush: () => endpoint.flush(),
      progress(number, value) {
        endpoint.send(protocol.PROGRESS, number, undefined, value);
        // A loop that never returns to the event loop would otherwise send it at its end.
        endpoint.flush();
      },
      report: (error) => endpoint.sendError(protocol.UNCAUGHT, 0, error),
      retire: () => say(protocol.RETIRE),
      receive: (task) =>
        inbox.receiveDuringTask((records) => {
          const isForTask = (at: number) =>
            kindOf(records[at]) === protocol.STOP && records[at + 1] === task;
          const others: unknown[] = [];
          for (let at = 0; at < records.length; at += STRIDE) {
            const record = records.slice(at, at + STRIDE);
            if (isForTask(at)) endpoint.receive(record);
            else others.push(...record);
          }
          return others;
        }),
      resume: () => inbox.turn(),
    },
    served,
    memory && new Claims(memory),
    () => heap !== undefined && (poolPlatform.heapUsed?.() ?? 0) > heap,
  );
  poolPlatform.onUncaught((error) => runner.failed(error));
  poolPlatform.onExit(() => runner.end());
  if (!inNode) await holdLock(workerId, new Promise(() => {}), () => say(protocol.LOCKED));
  const inbox: Inbox = new Inbox({
    port: port as unknown as Port,
    mailbox: polls ? mailbox : undefined,
    take: (records) => endpoint.receive(records),
    unreadable(error) {
      if (endpoint.receiveUnreadable(error)) return;
      endpoint.send(protocol.UNREADABLE, runner.lastNumber, undefined, undefined);
    },
    work: (end) => runner.work(end),
    turnEnded: () => endpoint.flush(),
    maySpin: () => spins && runner.isIdle && runner.lastTime < WORTH_SPINNING,
  });
  say(
    protocol.READY,
    served.map(({ name }) => name),
  );
}
