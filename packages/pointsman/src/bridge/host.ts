/**
 * The host's side of a bridge.
 *
 * Invariant: at most one offer is accepted. The ports of the other offers are closed then. All ports are closed and
 * all listeners removed when the bridge ends.
 */

import { asyncDispose, dispose } from '../sync/dispose.js';
import { checkInteger, invalid } from '../sync/errors.js';
import { checkOptions, checkWaitOptions, type WaitOptions } from '../sync/options.js';
import { captureContextForEach } from '../transport/async-context.js';
import { functionsOf, type NamedFunction } from '../transport/functions.js';
import { watchLock } from '../transport/lock.js';
import { listen, type Port } from '../transport/platform.js';
import type { Transferable } from '../transport/transfer.js';
import type { WorkerLike } from '../transport/types.js';
import { asynchronous, asynchronousWith, unconnectedView } from './calls.js';
import { Connection } from './connection.js';
import { ConnectionState } from './connection-state.js';
import { closedHere, closedThere, type Ending, endingError, workerHasEnded } from './ending.js';
import { BridgeStateError } from './errors.js';
import {
  type BlockingHello,
  type MadeOffer,
  makeOffer,
  message,
  messageOf,
  ring,
} from './offer.js';
import { watchTerminate } from './terminate-watch.js';
import { type AsynchronousView, type exposedApi, reserved, type Unreserved } from './types.js';

/** Options for {@link expose}. */
export interface ExposeOptions {
  /**
   * Whether both sides may spin for the next message before they sleep. With `auto`, the default, they spin no longer
   * than recent wake-ups took, and pause spinning while it keeps failing.
   */
  readonly spin?: 'auto' | false | undefined;
  /**
   * Bytes of shared memory for each direction, rounded up to a power of two. Larger messages are sent in parts.
   * Unused memory is never touched. Default: 2 MiB.
   */
  readonly bufferSize?: number | undefined;
  /** Maximum bytes of one call or reply; a larger one fails with a `RangeError`. Default: 256 MiB. */
  readonly maxMessageSize?: number | undefined;
  /**
   * Maximum milliseconds for which a blocked caller gets no response from the host, not even to a liveness check;
   * then the call fails with an {@link UnresponsiveError}. At least 1; `Infinity` never fails. Default: 10,000.
   */
  readonly heartbeatTimeout?: number | undefined;
}

/** The host's side of a bridge. {@link ApiOf} is the type of its API. */
export interface Exposed<WorkerApi, Api extends object = object> extends Disposable {
  /** Exists only in the type. */
  readonly [exposedApi]?: Api;
  /** Resolves when the worker has connected. Rejects if it fails to load, if it ends, or if the bridge closes first. */
  readonly ready: Promise<void>;
  /** Whether the bridge has ended. */
  readonly closed: boolean;
  /** Resolves when either side has closed the bridge or the worker has ended, with a text that states the cause. */
  readonly ended: Promise<string>;
  /** The functions that the worker serves, returning promises. A worker that is blocked in a call runs them too. */
  readonly worker: AsynchronousView<WorkerApi>;
  /**
   * The same functions with options for each call.
   * - `timeout`: maximum milliseconds from the call to its reply, >= 0; then the call rejects with a `TimeoutError`,
   *   but the function may still run. With 0 the call is not sent, because no other thread replies at once.
   *   Default: `Infinity`.
   * - `signal`: cancels the call. To stop the function itself, pass a signal as an argument.
   */
  with(options: WaitOptions): AsynchronousView<WorkerApi>;
  /**
   * Ends the bridge. On this side, pending and later calls reject with `reason`, or with a {@link BridgeClosedError}
   * if none is given. On the other side they reject with a `BridgeClosedError` whose `cause` is a copy of the reason.
   * A second call does nothing.
   */
  close(reason?: unknown): void;
  /** Same as {@link close}. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * The type of the API of a bridge.
 *
 * ```ts
 * const bridge = expose(worker, { add: (a: number, b: number) => a + b });
 * export type Api = ApiOf<typeof bridge>; // in the worker: connect<Api>()
 * ```
 */
export type ApiOf<Bridge> = Bridge extends { readonly [exposedApi]?: infer Api } ? Api : never;

interface OpenOffer extends MadeOffer {
  stopListening(): void;
}

const defaultBufferSize = 1 << 21;
const maxBufferSize = 1 << 29;
const defaultMessageSize = 1 << 28;
const defaultHeartbeat = 10_000;
export const exposeNames: readonly string[] = [
  'spin',
  'bufferSize',
  'maxMessageSize',
  'heartbeatTimeout',
];

/**
 * Lets a worker call the functions of `api`. Call it after creating the worker, which calls {@link connect}.
 *
 * If a function returns a promise, its caller waits for the result, blocked or not. An error that it throws is thrown
 * in the worker, with name, message, stack, cause, code and own properties.
 *
 * ```js
 * const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
 * const bridge = expose(worker, { add: (a, b) => a + b });
 * ```
 *
 * `WorkerApi` is the type of `serve`. TypeScript infers all type arguments or none: `expose<WorkerApi, typeof api>`.
 */
export function expose<WorkerApi = object, Api extends object = object>(
  worker: WorkerLike,
  api: Api & Unreserved<Api>,
  options: ExposeOptions = {},
): Exposed<WorkerApi, Api> {
  if (typeof worker?.postMessage !== 'function') {
    throw invalid('worker', worker, 'a Worker or a port');
  }
  checkOptions(options, exposeNames);
  return exposeFunctions(worker, functionsOf(api, 'api', reserved), options);
}

/** Returns the options with their defaults. Throws if one is invalid. */
export function checkExposeOptions(options: ExposeOptions) {
  const { spin = 'auto', bufferSize = defaultBufferSize } = options;
  const { maxMessageSize = defaultMessageSize, heartbeatTimeout = defaultHeartbeat } = options;
  if (spin !== 'auto' && spin !== false) throw invalid('spin', spin, '"auto" or false');
  checkInteger('bufferSize', bufferSize, 1, maxBufferSize);
  checkInteger('maxMessageSize', maxMessageSize, 1, 2 ** 31 - 1);
  if (!(typeof heartbeatTimeout === 'number' && heartbeatTimeout >= 1)) {
    const expected = 'a number of milliseconds >= 1';
    throw invalid('heartbeatTimeout', heartbeatTimeout, expected, 'number');
  }
  return { spin, bufferSize, maxMessageSize, heartbeatTimeout };
}

/** Exposes functions; see {@link expose}. */
export function exposeFunctions<WorkerApi, Api extends object>(
  worker: WorkerLike,
  functions: readonly NamedFunction[],
  options: ExposeOptions,
): Exposed<WorkerApi, Api> {
  const { spin, bufferSize, maxMessageSize, heartbeatTimeout } = checkExposeOptions(options);

  const run = captureContextForEach();
  const base = worker as unknown as Port;

  let connection: Connection | undefined;
  let view: object | undefined;
  const offers = new Map<number, OpenOffer>();
  const ends = new AbortController();
  const state = new ConnectionState();

  function end(ending: Ending): void {
    if (state.ending) return;
    state.end(ending, 'expose');
    ends.abort();
    stopListening();
    withdrawOffers();
  }

  function withdrawOffers(): void {
    for (const { port, values, stopListening } of offers.values()) {
      stopListening();
      port.close();
      values?.close();
    }
    offers.clear();
  }

  function answer({ port, bell }: BlockingHello, data: unknown, list: Transferable[] = []): void {
    port.postMessage(data, list as never);
    ring(bell);
    port.close();
  }

  /** `hello` is from a thread that blocks until it is connected. */
  function makeNewOffer(hello?: BlockingHello): void {
    const made = makeOffer({
      bufferSize: 2 ** Math.ceil(Math.log2(Math.max(bufferSize, 4096))),
      names: functions.map(({ name }) => name),
      maxMessageSize,
      heartbeatTimeout,
      spins: spin === 'auto',
    });
    const { offer, transferList } = made;
    const port = made.port as unknown as Port;
    offers.set(offer.id, { ...made, stopListening: listen(port, onMessage) });
    port.unref?.();
    const data = message(offer.id, 'offer', offer);
    if (hello) answer(hello, data, transferList);
    else base.postMessage(data, transferList as never);
  }

  function onMessage(data: unknown): void {
    const received = messageOf(data);
    if (received === undefined || state.ending) return;
    const [, id, type, payload] = received;
    if (type === 'hello') {
      const hello = payload as BlockingHello | undefined;
      if (connection === undefined) makeNewOffer(hello);
      else if (hello) answer(hello, message(0, 'refuse', 'the worker is connected already'));
      return;
    }
    // A worker that closes before it receives an offer refuses all offers.
    if (type === 'refuse' && id === 0 && connection === undefined) {
      end({ text: String(payload) });
      return;
    }
    const made = offers.get(id);
    if (made === undefined) return;
    if (type === 'accept') accept(made, payload as readonly string[]);
    else if (type === 'alive') watchLock(id, ends.signal, onExit);
    else if (connection) connection.receive(data);
    else if (type === 'refuse' || type === 'close') end({ text: String(payload) });
  }

  function accept(made: OpenOffer, names: readonly string[]): void {
    if (connection) return;
    const { offer, port, values } = made;
    // The connection listens on this port itself; a second listener would handle each message twice.
    made.stopListening();
    offers.delete(offer.id);
    withdrawOffers();
    offers.set(offer.id, made);
    connection = new Connection({
      role: 'host',
      offer,
      port,
      values,
      base,
      functions,
      run,
      goneText: workerHasEnded,
      ended: end,
    });
    view = asynchronous(connection.endpoint, names);
    // Before the first calls of the worker run: one may close the bridge.
    state.resolveReady();
    connection.endpoint.begin(names);
  }

  function onGone(text: string): void {
    if (connection) connection.otherHasEnded({ text });
    else end({ text });
  }

  function close(reason?: unknown): void {
    if (connection) {
      connection.close(closedHere(reason), true);
      return;
    }
    for (const { offer, port } of offers.values()) {
      port.postMessage(message(offer.id, 'close', closedThere(reason).text));
    }
    end(closedHere(reason));
  }

  const onExit = () => onGone(workerHasEnded);
  const onError = (error: { message?: string }) => {
    // In a browser a running worker survives an error.
    if (base.on || connection === undefined) {
      onGone(`the worker has failed: ${error?.message ?? 'it could not be loaded'}`);
    }
  };
  const stopListeningToBase = listen(
    base,
    onMessage,
    () => {
      // After connecting, the bridge uses its own port.
      if (connection === undefined) end({ text: workerHasEnded });
    },
    (cause) => connection?.receiveUnreadableOfWorker(cause),
  );
  base.on?.('exit', onExit);
  base.on?.('error', onError);
  base.addEventListener?.('error', onError);
  const stopWatching = watchTerminate(base, onExit);
  function stopListening(): void {
    stopListeningToBase();
    stopWatching();
    base.off?.('exit', onExit);
    base.off?.('error', onError);
    base.removeEventListener?.('error', onError);
  }
  makeNewOffer();
  // A Node worker that has already ended emits no event.
  if ((worker as { readonly threadId?: unknown }).threadId === -1) onGone(workerHasEnded);

  const rejectEarly = async (name: string) => {
    if (state.ending) throw endingError(state.ending, name, `${name}() has no answer`);
    throw new BridgeStateError(
      `${name}() is called before the worker has connected: await bridge.ready first`,
      name,
    );
  };
  const unconnected = unconnectedView(rejectEarly, () => view);

  return {
    ready: state.ready,
    ended: state.ended,
    get closed() {
      return state.ending !== undefined;
    },
    get worker() {
      return (view ?? unconnected) as never;
    },
    with(more) {
      checkWaitOptions(more);
      const connected = () =>
        connection && asynchronousWith(connection.endpoint, connection.endpoint.names, more);
      return (connected() ?? unconnectedView(rejectEarly, connected)) as never;
    },
    close,
    [dispose]: () => close(),
    [asyncDispose]: async () => close(),
  };
}
