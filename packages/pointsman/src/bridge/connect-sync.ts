/**
 * Connects to a worker while this thread blocks, so that the functions of the worker can be called without any `await`.
 *
 * Invariant: at least every {@link CHECK_INTERVAL}, the blocked thread checks whether the worker has ended and whether
 * its timeout has expired. If `connectSync` throws, its port is closed and the worker that it started is terminated.
 */

import { invalid } from '../sync/errors.js';
import { checkOptions, checkTimeout } from '../sync/options.js';
import { type ErrorParts, makeError, putTogether } from '../transport/error-values.js';
import { timedOut } from '../transport/outcome.js';
import { type Port, platform } from '../transport/platform.js';
import type { ThreadOptions, WorkerLike } from '../transport/types.js';
import { type Ending, unanswered, workerHasEnded } from './ending.js';
import { BridgeStateError } from './errors.js';
import { checkExposeOptions, type ExposeOptions, exposeNames } from './host.js';
import { type BlockingHello, message, messageOf } from './offer.js';
import type { Host } from './types.js';
import { makeCaller } from './worker.js';

/** Options for {@link connectSync}. All but `timeout` are for a module; a worker has its own. */
export interface ConnectSyncOptions extends ExposeOptions {
  /**
   * Maximum milliseconds until the worker has loaded, >= 0; then `connectSync` throws a `TimeoutError`. For the calls,
   * see {@link HostView.with}. Default: 60,000.
   */
  readonly timeout?: number | undefined;
  /**
   * Maximum milliseconds for which a blocked call gets no response from the worker, not even to a liveness check; then
   * it fails with an {@link UnresponsiveError}. At least 1. Default: `Infinity` in Node, which reports the end of a
   * worker to a blocked thread, and 10,000 elsewhere.
   */
  readonly heartbeatTimeout?: number | undefined;
  /** The memory limits of the worker; see Node's `Worker`. */
  readonly resourceLimits?: object | undefined;
  /** The worker's `process.env`; see Node's `Worker`. Default: a copy of this thread's. */
  readonly env?: object | symbol | undefined;
  /** Values appended to the worker's `process.argv`; see Node's `Worker`. */
  readonly argv?: readonly unknown[] | undefined;
  /** Node's options for the worker, such as `['--import', './tsx.js']`; see Node's `Worker`. Default: this thread's. */
  readonly execArgv?: readonly string[] | undefined;
  /** The worker's `workerData`, which is a copy; see Node's `Worker`. */
  readonly workerData?: unknown;
}

/** The `hello` to a worker that loads a module and exposes its exports. */
export interface ModuleHello extends BlockingHello {
  readonly module: string;
  readonly options: Required<ExposeOptions>;
}

/** The payload of `failed`: why the worker cannot expose the module. */
export interface LoadFailure {
  readonly text: string;
  readonly error?: ErrorParts;
}

/** Starts a worker that waits for a {@link ModuleHello}. `module` is the specifier for its `import`. */
type StartModule = (
  module: string,
  options: ThreadOptions,
) => { readonly worker: WorkerLike; readonly module: string };

let startModule: StartModule | undefined;

export function useStartModule(start: StartModule): void {
  startModule = start;
}

/** Milliseconds between two checks for the end of the worker while it loads. */
const CHECK_INTERVAL = 20;
const DEFAULT_TIMEOUT = 60_000;
const threadNames = ['resourceLimits', 'env', 'argv', 'execArgv', 'workerData'];
const moduleNames = ['timeout', ...exposeNames, ...threadNames];
const workerNames = ['timeout'];

/**
 * Connects to a worker, blocks until it has loaded, and returns its functions. Each call blocks until the reply
 * arrives, also if the function is asynchronous. For Node, Bun and Deno: see `docs/bridge.md`.
 *
 * `worker` is the URL or the absolute path of a module, whose exported functions a new worker then serves, or a worker
 * whose script calls {@link expose} with its `parentPort`. `close` ends the bridge, and the worker if it was started
 * here. A worker that was started here does not keep the process alive.
 *
 * ```js
 * const worker = connectSync(new URL('./worker.js', import.meta.url));
 * worker.format('a  =  1'); // of: export async function format(code) { … }
 * ```
 */
export function connectSync<Api>(
  worker: URL | string | WorkerLike,
  options: ConnectSyncOptions = {},
): Host<Api> {
  const isModule = typeof worker === 'string' || isUrl(worker);
  if (!isModule && typeof worker?.postMessage !== 'function') {
    throw invalid('worker', worker, 'the URL of a module, or a Worker');
  }
  // Another string, such as a name of a package, would be resolved from the files of this package.
  if (typeof worker === 'string' && !/^([/\\]|[a-z][a-z\d+.-]*:)/i.test(worker)) {
    throw invalid('worker', worker, 'an absolute path or a URL');
  }
  checkOptions(options, isModule ? moduleNames : workerNames);
  checkTimeout(options.timeout);
  // Before the worker starts: an invalid option must not leave one behind.
  const exposed = checkExposeOptions(options);
  if (platform.receive === undefined || (isModule && startModule === undefined)) {
    throw new BridgeStateError(
      'connectSync() needs a thread that receives messages while it blocks: Node, Bun or Deno. In a page, await the ready of connect',
      'connectSync',
    );
  }
  const { port1, port2 } = new MessageChannel();
  const port = port1 as unknown as Port;
  const hello: BlockingHello = { port: port2, bell: new Int32Array(new SharedArrayBuffer(4)) };
  // Only in Node, and undocumented: `postMessage` returns true while the other end of the port is open.
  const check = () => port.postMessage(message(0, 'check'));
  const open = check();
  const { heartbeatTimeout = open === true ? Infinity : exposed.heartbeatTimeout } = options;

  let thread: Port & { readonly threadId?: number };
  if (isModule) {
    const started = (startModule as StartModule)(String(worker), options);
    thread = started.worker as Port;
    thread.unref?.();
    // Without a listener, the error of a worker would end the process. The bridge reports it.
    thread.on?.('error', () => {});
    const load: ModuleHello = {
      ...hello,
      module: started.module,
      options: { ...exposed, heartbeatTimeout },
    };
    thread.postMessage(message(0, 'hello', load), [port2] as never);
  } else {
    thread = worker as Port;
    thread.postMessage(message(0, 'hello', hello), [port2] as never);
  }

  const caller = makeCaller({
    call: 'connectSync',
    base: port,
    functions: [],
    goneText: workerHasEnded,
    ended() {
      port.close?.();
      if (isModule) thread.terminate?.();
    },
  });
  const fail = (ending: Ending, error = unanswered(ending, 'connectSync')): never => {
    caller.fail(ending);
    throw error;
  };

  const { timeout = DEFAULT_TIMEOUT } = options;
  const startedAt = performance.now();
  const receive = (): boolean => {
    // Before the port is read: a later ring ends the next sleep at once.
    Atomics.store(hello.bell, 0, 0);
    const received = platform.receive?.(port);
    if (received === undefined) return false;
    const [, , type, payload] = messageOf(received.message) ?? [];
    if (type === 'failed') fail(endingOf(payload as LoadFailure));
    if (type === 'refuse') fail({ text: String(payload) });
    caller.receive(received.message);
    return true;
  };
  // A worker of Node that has ended before drops what is posted to it.
  if (thread.threadId === -1) fail({ text: workerHasEnded });
  while (caller.isWaiting) {
    if (receive()) continue;
    // The worker may have posted its last message just before.
    if (check() !== open && !receive()) fail({ text: workerHasEnded });
    const left = startedAt + timeout - performance.now();
    if (left <= 0) fail({ text: 'the worker has not loaded' }, timedOut('connectSync', timeout));
    Atomics.wait(hello.bell, 0, 0, Math.min(left, CHECK_INTERVAL));
  }
  return caller.view as Host<Api>;
}

/** Whether this is a URL, also of another realm. */
const isUrl = (value: unknown): value is URL => typeof (value as URL | null)?.href === 'string';

function endingOf({ text, error }: LoadFailure): Ending {
  if (error === undefined) return { text };
  return {
    text,
    cause: putTogether(makeError(error.classNumber, error.message, error.name), error),
  };
}
