/**
 * The host's side: what the thread that has made a worker lets it call.
 *
 * Invariant: one offer is accepted at most. The ports of the others are closed then, and all of them, with every
 * listener, when the bridge ends.
 */

import { asyncDispose, dispose } from '../sync/dispose.js';
import { checkInteger, invalid } from '../sync/errors.js';
import { checkOptions, checkWaitOptions, type WaitOptions } from '../sync/options.js';
import { captureContextForEach } from '../transport/async-context.js';
import { functionsOf } from '../transport/functions.js';
import { watchLock } from '../transport/lock.js';
import { listen, type Port } from '../transport/platform.js';
import type { WorkerLike } from '../transport/types.js';
import { asynchronous, asynchronousWith, unknown } from './calls.js';
import { Connection } from './connection.js';
import { ConnectionState } from './connection-state.js';
import { closedHere, closedThere, type Ending, refusal, workerHasEnded } from './ending.js';
import { BridgeStateError } from './errors.js';
import { type MadeOffer, makeOffer, message, messageOf } from './offer.js';
import { watchTerminate } from './terminate-watch.js';
import { type AsynchronousView, type exposedApi, reserved, type Unreserved } from './types.js';

export interface ExposeOptions {
  /**
   * Whether both sides may spin for the next message before they sleep. `auto`, the default, does so for
   * no longer than a wake-up has lately cost, and not while it keeps failing; `false` never does.
   */
  readonly spin?: 'auto' | false | undefined;
  /**
   * Bytes of shared memory for each direction; rounded up to a power of two. What is larger travels in
   * parts. Memory that is never needed is never touched. Default: 2 MiB.
   */
  readonly bufferSize?: number | undefined;
  /** The most bytes that one call or answer may have; more is a `RangeError`. Default: 256 MiB. */
  readonly maxMessageSize?: number | undefined;
  /**
   * Milliseconds for which a call that blocks hears nothing from the host, not even the answer to a liveness
   * check, before it fails with an {@link UnresponsiveError}: any number from 1 on, `Infinity` for never.
   * Default: 10,000.
   */
  readonly heartbeatTimeout?: number | undefined;
}

/** The host's end of a bridge. {@link ApiOf} is the type of what it lets the worker call. */
export interface Exposed<WorkerApi, Api extends object = object> extends Disposable {
  /** For types only: it is never there. */
  readonly [exposedApi]?: Api;
  /**
   * Resolves when the worker has connected. Rejects if it cannot: it failed to load, it ended, or the bridge
   * was closed.
   */
  readonly ready: Promise<void>;
  /** Whether the bridge is over. */
  readonly closed: boolean;
  /**
   * Resolves when the bridge is over, because either side has closed it or because the worker has ended, with a
   * text that says which, and for what reason.
   */
  readonly ended: Promise<string>;
  /**
   * The functions that the worker serves, returning promises. A worker that is blocked by a call of
   * its own carries them out meanwhile.
   */
  readonly worker: AsynchronousView<WorkerApi>;
  /**
   * The same with options for each call.
   * - `timeout`: milliseconds from the call to its answer, any number from 0 on; a `TimeoutError` when they are
   *   over. The call may still be carried out. With 0 it is not sent at all, since no other thread answers at
   *   once; `Infinity`, the default, is as long as it takes.
   * - `signal`: gives up when it aborts. To have the function itself stop, pass a signal as an argument.
   */
  with(options: WaitOptions): AsynchronousView<WorkerApi>;
  /**
   * Ends the bridge. Calls without an answer, and later ones, are refused with `reason` here, or with a
   * {@link BridgeClosedError} if none is given. On the other side they are refused with a `BridgeClosedError`
   * whose `cause` is a copy of the reason. A second call does nothing.
   */
  close(reason?: unknown): void;
  /** As {@link close}. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * The type of what a bridge lets its worker call.
 *
 * ```ts
 * const bridge = expose(worker, { add: (a: number, b: number) => a + b });
 * export type Api = ApiOf<typeof bridge>; // in the worker: connect<Api>()
 * ```
 */
export type ApiOf<Bridge> = Bridge extends { readonly [exposedApi]?: infer Api } ? Api : never;

/** An offer that nobody has accepted yet. */
interface OpenOffer extends MadeOffer {
  stopListening(): void;
}

const defaultBufferSize = 1 << 21;
const maxBufferSize = 1 << 29;
const defaultMessageSize = 1 << 28;
const defaultHeartbeat = 10_000;
const optionNames = new Set(['spin', 'bufferSize', 'maxMessageSize', 'heartbeatTimeout']);

/**
 * Lets a worker call the functions of `api`. Call it when the worker has been made; the worker calls
 * {@link connect}.
 *
 * A function may return a promise: whoever called it then waits, blocked or not. What it throws is
 * thrown in the worker, with name, message, stack, cause, code and own properties.
 *
 * ```js
 * const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
 * const bridge = expose(worker, { add: (a, b) => a + b });
 * ```
 *
 * `WorkerApi` is what the worker serves. TypeScript infers all type arguments or none: `expose<WorkerApi, typeof api>`.
 */
export function expose<WorkerApi = object, Api extends object = object>(
  worker: WorkerLike,
  api: Api & Unreserved<Api>,
  options: ExposeOptions = {},
): Exposed<WorkerApi, Api> {
  if (typeof worker?.postMessage !== 'function') {
    throw invalid('worker', worker, 'a Worker or a port');
  }
  checkOptions(options, optionNames);
  const { spin = 'auto', bufferSize = defaultBufferSize } = options;
  const { maxMessageSize = defaultMessageSize, heartbeatTimeout = defaultHeartbeat } = options;
  if (spin !== 'auto' && spin !== false) throw invalid('spin', spin, '"auto" or false');
  checkInteger('bufferSize', bufferSize, 1, maxBufferSize);
  checkInteger('maxMessageSize', maxMessageSize, 1, 2 ** 31 - 1);
  if (!(typeof heartbeatTimeout === 'number' && heartbeatTimeout >= 1)) {
    const expected = 'a number of milliseconds from 1 on';
    throw invalid('heartbeatTimeout', heartbeatTimeout, expected, 'number');
  }
  const functions = functionsOf(api, 'api', reserved);
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

  function makeNewOffer(): void {
    const made = makeOffer({
      bufferSize: 2 ** Math.ceil(Math.log2(Math.max(bufferSize, 4096))),
      names: functions.map(({ name }) => name),
      maxMessageSize,
      heartbeatTimeout,
      spins: spin === 'auto',
    });
    const { offer, moving } = made;
    const port = made.port as unknown as Port;
    offers.set(offer.id, { ...made, stopListening: listen(port, heard) });
    port.unref?.();
    base.postMessage(message(offer.id, 'offer', offer), moving as never);
  }

  function heard(data: unknown): void {
    const received = messageOf(data);
    if (received === undefined || state.ending) return;
    const [, id, type, payload] = received;
    if (type === 'hello') {
      if (connection === undefined) makeNewOffer();
      return;
    }
    // A worker that is closed before it has seen an offer refuses all.
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
    // The connection listens there itself: nothing may be heard twice.
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
      ended: end,
    });
    view = asynchronous(connection.endpoint, names);
    connection.endpoint.begin(names);
    state.resolveReady();
  }

  /** The worker is gone. */
  function lose(text: string): void {
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

  const onExit = () => lose(workerHasEnded);
  const onError = (error: { message?: string }) => {
    // In a browser a worker lives on after an error, once it runs.
    if (base.on || connection === undefined) {
      lose(`the worker has failed: ${error?.message ?? 'it could not be loaded'}`);
    }
  };
  const stopHearing = listen(
    base,
    heard,
    () => {
      // After connecting, the bridge uses a port of its own.
      if (connection === undefined) end({ text: workerHasEnded });
    },
    (cause) => connection?.receiveUnreadableOfWorker(cause),
  );
  base.on?.('exit', onExit);
  base.on?.('error', onError);
  base.addEventListener?.('error', onError);
  const stopWatching = watchTerminate(base, onExit);
  function stopListening(): void {
    stopHearing();
    stopWatching();
    base.off?.('exit', onExit);
    base.off?.('error', onError);
    base.removeEventListener?.('error', onError);
  }
  makeNewOffer();
  // A Node worker that has already ended emits no event.
  if ((worker as { readonly threadId?: unknown }).threadId === -1) lose(workerHasEnded);

  const early = async (name: string) => {
    if (state.ending) throw refusal(state.ending, name, `${name}() has no answer`);
    throw new BridgeStateError(
      `${name}() is called before the worker has connected: await bridge.ready first`,
      name,
    );
  };
  const unconnected = unknown(early, () => view);

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
      return (connected() ?? unknown(early, connected)) as never;
    },
    close,
    [dispose]: () => close(),
    [asyncDispose]: async () => close(),
  };
}
