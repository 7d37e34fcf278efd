/**
 * The worker's side of a bridge.
 *
 * Invariant: the worker accepts at most one offer, and sends no call before that.
 */

import { asyncDispose, dispose } from '../sync/dispose.js';
import { invalid } from '../sync/errors.js';
import { checkOptions } from '../sync/options.js';
import { captureContextForEach } from '../transport/async-context.js';
import { soon } from '../transport/event-loop.js';
import { functionsOf, type NamedFunction } from '../transport/functions.js';
import { holdLock } from '../transport/lock.js';
import { listen, type Port, platform } from '../transport/platform.js';
import type { WorkerLike } from '../transport/types.js';
import { addCalls, unconnectedView } from './calls.js';
import { Connection } from './connection.js';
import { ConnectionState } from './connection-state.js';
import { closedHere, closedThere, type Ending, hostHasEnded, unanswered } from './ending.js';
import { BridgeStateError } from './errors.js';
import { message, messageOf, type Offer } from './offer.js';
import { type Host, reserved } from './types.js';

/** Options for {@link connect}. */
export interface ConnectOptions {
  /** Functions that the host may call. Synchronous ones complete even while this thread is blocked. */
  readonly serve?: object | undefined;
  /** A port to the host, or a worker that exposes an API to this thread. Default: the thread that started this worker. */
  readonly port?: WorkerLike | undefined;
}

const optionNames: readonly string[] = ['serve', 'port'];

/**
 * Connects to the host, which calls {@link expose}. Once `ready` has resolved, its functions can be called; they block
 * until the reply arrives. `async`, `send`, `batch` and `with` are other ways to call them.
 *
 * ```js
 * const host = connect();
 * await host.ready;
 * host.add(1, 2); // 3
 * ```
 */
export function connect<Api>(options: ConnectOptions = {}): Host<Api> {
  checkOptions(options, optionNames);
  const { serve = {}, port: base = platform.host } = options;
  if (base === undefined) {
    throw new BridgeStateError(
      'this thread has no host: it was not started as a worker',
      'connect',
    );
  }
  if (typeof base?.postMessage !== 'function') throw invalid('port', base, 'a port');
  const functions = functionsOf(serve, 'serve', reserved);
  const host = base as Port;
  const caller = makeCaller({ call: 'connect', base: host, functions, goneText: hostHasEnded });
  // An earlier offer makes a hello unnecessary. It may take two turns to arrive, because Node reads messages between
  // turns.
  soon(() =>
    soon(() => {
      if (caller.isWaiting) host.postMessage(message(0, 'hello'));
    }),
  );
  return caller.view as Host<Api>;
}

export interface CallerOptions {
  /** The function that makes it. */
  readonly call: 'connect' | 'connectSync';
  /** Where the offer arrives. */
  readonly base: Port;
  readonly functions: readonly NamedFunction[];
  /** What has happened when the other thread has ended. */
  readonly goneText: string;
  /** Called when the bridge has ended. */
  ended?(): void;
}

/** One side of a bridge that accepts an offer and calls the other side. */
export interface Caller {
  readonly view: Host<object>;
  /** Whether no offer has arrived and the bridge is not closed. */
  readonly isWaiting: boolean;
  /** Handles a message that `base` has received. */
  receive(data: unknown): void;
  /** Ends the bridge before it is connected. */
  fail(ending: Ending): void;
}

export function makeCaller(options: CallerOptions): Caller {
  const { call, base: host, functions, goneText, ended } = options;
  const run = captureContextForEach();

  let connection: Connection | undefined;
  let connected: Host<object> | undefined;
  const state = new ConnectionState();

  function end(ending: Ending): void {
    state.end(ending, call);
    host.off?.('exit', onGone);
    ended?.();
  }

  function close(reason?: unknown): void {
    if (connection) connection.close(closedHere(reason), true);
    else if (!state.ending) {
      host.postMessage(message(0, 'refuse', closedThere(reason).text));
      end(closedHere(reason));
      // A later offer is refused, but listening for one must not keep this thread alive.
      if (host.ref) stopListening();
    }
  }

  const view = Object.setPrototypeOf(
    {
      ready: state.ready,
      ended: state.ended,
      get closed() {
        return state.ending !== undefined;
      },
      close,
      [dispose]: () => close(),
      [asyncDispose]: async () => close(),
    },
    unconnectedHost(state, () => connected),
  );

  function onGone(): void {
    if (connection) connection.otherIsGone();
    else fail({ text: goneText });
  }

  function fail(ending: Ending): void {
    if (state.ending) return;
    stopListening();
    end(ending);
  }
  const stopListening = listen(host, onMessage, onGone);
  // A worker of Node has no `close` event.
  if (host.terminate) host.on?.('exit', onGone);

  function onMessage(data: unknown): void {
    const received = messageOf(data);
    if (received?.[2] !== 'offer') return;
    stopListening();
    const offer = received[3] as Offer;
    if (state.ending) {
      const { text } = closedThere(state.ending.reason);
      host.postMessage(message(offer.id, 'refuse', text));
    } else {
      accept(offer);
    }
  }

  function accept(offer: Offer): void {
    connection = new Connection({
      role: 'worker',
      offer,
      port: offer.port,
      values: offer.values,
      base: host,
      functions,
      run,
      goneText,
      ended: end,
    });
    // A blocked thread could not acquire the lock later.
    if (platform.receive !== undefined) begin(offer);
    else
      void holdLock(offer.id, connection.finished, () => connection?.post('alive')).then(() =>
        begin(offer),
      );
  }

  function begin({ names }: Offer): void {
    if (connection === undefined || state.ending) return;
    const { endpoint } = connection;
    // From now on, a name that is not exposed is undefined.
    Object.setPrototypeOf(view, Object.prototype);
    addCalls(view, endpoint, names);
    connected = view;
    connection.post(
      'accept',
      functions.map(({ name }) => name),
    );
    // Before the first calls of the host run: one may close the bridge.
    state.resolveReady();
    endpoint.begin(names);
  }

  return {
    view,
    get isWaiting() {
      return connection === undefined && !state.ending;
    },
    receive: onMessage,
    fail,
  };
}

/** Handles calls before the bridge is connected, and after it was closed without having been connected. */
function unconnectedHost(
  state: ConnectionState,
  connected: () => Host<object> | undefined,
): object {
  const errorFor = (name: string): unknown => {
    if (state.ending) return unanswered(state.ending, name);
    return new BridgeStateError(
      `${name}() is called before the bridge is connected: await host.ready first`,
      name,
    );
  };
  const throwing = (name: string) => {
    throw errorFor(name);
  };
  const rejecting = (name: string) => Promise.reject(errorFor(name));
  return Object.create(unconnectedView(throwing, connected), {
    async: { value: unconnectedView(rejecting, () => connected()?.async) },
    send: { value: unconnectedView(throwing, () => connected()?.send) },
  });
}
