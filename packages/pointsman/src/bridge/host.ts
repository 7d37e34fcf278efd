/**
 * The host's side: what the thread that has made a worker lets it call.
 *
 * Invariant: one offer is accepted at most. The ports of the others are closed then, and all of them, with every
 * listener, when the bridge ends.
 */

import { checkInteger, invalid } from '../sync/errors.js';
import { checkWaitOptions, type WaitOptions } from '../sync/options.js';
import { functionsOf } from '../transport/functions.js';
import { watchLock } from '../transport/lock.js';
import { listen, type Port } from '../transport/platform.js';
import type { WorkerLike } from '../transport/types.js';
import { asynchronous } from './calls.js';
import { Connection } from './connection.js';
import { ConnectionState } from './connection-state.js';
import { BridgeStateError } from './errors.js';
import {
  type MadeOffer,
  makeOffer,
  message,
  messageOf,
  otherHasClosed,
  workerHasEnded,
} from './offer.js';
import { type Answers, type Asynchronous, type Noted, type Noting, reserved } from './types.js';

export type { WorkerLike };

export interface ExposeOptions {
  /**
   * Whether both sides may spin for the next message before they sleep. `auto`, the default, does so for
   * no longer than a wake-up has lately cost, and not while it keeps failing; `false` never does.
   */
  readonly spin?: 'auto' | false;
  /**
   * Bytes of shared memory for each direction; rounded up to a power of two. What is larger travels in
   * parts. Memory that is never needed is never touched. Default: 2 MiB.
   */
  readonly capacity?: number;
  /** The most bytes that one call or answer may have; more is a `RangeError`. Default: 256 MiB. */
  readonly limit?: number;
  /**
   * Milliseconds for which a call that blocks hears nothing from the host, not even the answer to a liveness
   * check, before it fails. Default: 10,000.
   */
  readonly patience?: number;
}

/** The host's end of a bridge. */
export interface Exposed<WorkerApi> extends Disposable {
  /**
   * Resolves when the worker has connected. Rejects if it cannot: it failed to load, or it ended.
   */
  readonly ready: Promise<void>;
  /** Resolves when the bridge is closed, by whichever side or because the worker ended, with the reason. */
  readonly closed: Promise<string>;
  /**
   * The functions that the worker serves, returning promises. A worker that is blocked by a call of
   * its own carries them out meanwhile.
   */
  readonly worker: Asynchronous<WorkerApi> & {
    batch<const Calls extends readonly Noted<unknown>[]>(
      note: (calls: Noting<WorkerApi>) => Calls,
    ): Promise<Answers<Calls>>;
  };
  /** The same with options for each call: `timeout` in milliseconds, and a `signal`. */
  with(options: WaitOptions): Asynchronous<WorkerApi>;
  /** Ends the bridge: calls without an answer reject with a `BridgeClosedError`, on both sides. */
  close(): void;
}

/** An offer that nobody has accepted yet. */
interface OpenOffer extends MadeOffer {
  stopListening(): void;
}

const defaultCapacity = 1 << 21;
const mostCapacity = 1 << 29;
const defaultLimit = 1 << 28;
const defaultPatience = 10_000;

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
 */
export function expose<WorkerApi = object>(
  worker: WorkerLike,
  api: object,
  options: ExposeOptions = {},
): Exposed<WorkerApi> {
  if (typeof worker?.postMessage !== 'function') {
    throw invalid('worker', worker, 'a Worker or a port');
  }
  const { spin = 'auto' } = options;
  const { capacity = defaultCapacity, limit = defaultLimit, patience = defaultPatience } = options;
  if (spin !== 'auto' && spin !== false) throw invalid('spin', spin, '"auto" or false');
  checkInteger('capacity', capacity, 1, mostCapacity);
  checkInteger('limit', limit, 1, 2 ** 31 - 1);
  checkInteger('patience', patience, 1, 2 ** 31 - 1);
  const functions = functionsOf(api, 'api', reserved);
  const base = worker as unknown as Port;

  let connection: Connection | undefined;
  let view: object | undefined;
  let reason: string | undefined;
  const offers = new Map<number, OpenOffer>();
  const ending = new AbortController();
  const state = new ConnectionState();

  function end(why: string): void {
    if (reason !== undefined) return;
    reason = why;
    ending.abort();
    stopListening();
    withdrawOffers();
    state.end(why, 'expose');
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
      capacity: 2 ** Math.ceil(Math.log2(Math.max(capacity, 4096))),
      names: functions.map(({ name }) => name),
      limit,
      patience,
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
    if (received === undefined || reason !== undefined) return;
    const [, id, type, payload] = received;
    if (type === 'hello') {
      if (connection === undefined) makeNewOffer();
      return;
    }
    // A worker that is closed before it has seen an offer refuses all.
    if (type === 'refuse' && id === 0 && connection === undefined) {
      end(String(payload));
      return;
    }
    const made = offers.get(id);
    if (made === undefined) return;
    if (type === 'accept') accept(made, payload as readonly string[]);
    else if (type === 'alive') watchLock(id, ending.signal, onExit);
    else if (connection) connection.receive(data);
    else if (type === 'refuse' || type === 'close') end(String(payload));
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
      ended: end,
    });
    view = asynchronous(connection.endpoint, names);
    connection.endpoint.begin(names);
    state.resolveReady();
  }

  /** The worker is gone. */
  function lose(why: string): void {
    if (connection) connection.otherHasEnded(why);
    else end(why);
  }

  function close(): void {
    if (connection) {
      connection.close('closed here', true);
      return;
    }
    for (const { offer, port } of offers.values()) {
      port.postMessage(message(offer.id, 'close', otherHasClosed));
    }
    end('closed here');
  }

  const onExit = () => lose(workerHasEnded);
  const onError = (error: { message?: string }) => {
    // In a browser a worker lives on after an error, once it runs.
    if (base.on || connection === undefined) {
      lose(`the worker has failed: ${error?.message ?? 'it could not be loaded'}`);
    }
  };
  const stopHearing = listen(base, heard, () => {
    // Once connected the bridge has a port of its own.
    if (connection === undefined) end(workerHasEnded);
  });
  base.on?.('exit', onExit);
  base.on?.('error', onError);
  base.addEventListener?.('error', onError);
  function stopListening(): void {
    stopHearing();
    base.off?.('exit', onExit);
    base.off?.('error', onError);
    base.removeEventListener?.('error', onError);
  }
  makeNewOffer();

  function connected(): Connection {
    if (connection) return connection;
    throw new BridgeStateError(
      'the worker has not connected yet: await bridge.ready first',
      'expose',
    );
  }

  return {
    ready: state.ready,
    closed: state.closed,
    get worker() {
      connected();
      return view as never;
    },
    with(more) {
      checkWaitOptions(more);
      const { endpoint } = connected();
      return asynchronous(endpoint, endpoint.names, more) as never;
    },
    close,
    [Symbol.dispose ?? Symbol.for('Symbol.dispose')]: close,
  } as Exposed<WorkerApi>;
}
