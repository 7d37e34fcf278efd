/**
 * The worker's side: calls into the thread that has made it.
 *
 * Invariant: one offer is accepted at most, and no call leaves this thread before that.
 */

import { asyncDispose, dispose } from '../sync/dispose.js';
import { invalid } from '../sync/errors.js';
import { checkOptions } from '../sync/options.js';
import { captureContextForEach } from '../transport/async-context.js';
import { soon } from '../transport/event-loop.js';
import { functionsOf } from '../transport/functions.js';
import { holdLock } from '../transport/lock.js';
import { listen, type Port, platform } from '../transport/platform.js';
import type { WorkerLike } from '../transport/types.js';
import { fill, unknown } from './calls.js';
import { Connection } from './connection.js';
import { ConnectionState } from './connection-state.js';
import { closedHere, closedThere, type Ending, hostHasEnded, unanswered } from './ending.js';
import { BridgeStateError } from './errors.js';
import { message, messageOf, type Offer } from './offer.js';
import { type Host, reserved } from './types.js';

export interface ConnectOptions {
  /** Functions that the host may call. Those that do not return a promise run even while this thread is blocked. */
  readonly serve?: object | undefined;
  /** Where the host is: a port, or a worker that exposes something to this thread. Default: whoever has made this worker. */
  readonly port?: WorkerLike | undefined;
}

const optionNames = new Set(['serve', 'port']);

/**
 * Connects to the host, which calls {@link expose}. The functions can be called when `ready` has
 * resolved: they block until they have the answer. `async`, `send`, `batch` and `with` are other ways
 * to call them.
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
    throw new BridgeStateError('this thread has no host: nobody has made it a worker', 'connect');
  }
  if (typeof base?.postMessage !== 'function') throw invalid('port', base, 'a port');
  const functions = functionsOf(serve, 'serve', reserved);
  const run = captureContextForEach();
  const host = base as Port;

  let connection: Connection | undefined;
  /** All ways to call, once the bridge is connected. */
  let connected: Host<object> | undefined;
  const state = new ConnectionState();

  function end(ending: Ending): void {
    state.end(ending, 'connect');
    host.off?.('exit', lose);
  }

  function close(reason?: unknown): void {
    if (connection) connection.close(closedHere(reason), true);
    else if (!state.ending) {
      host.postMessage(message(0, 'refuse', closedThere(reason).text));
      end(closedHere(reason));
      // A host may come later still. Where listening would keep this thread alive, it learns of its end.
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
    unconnected(state, () => connected),
  );

  function lose(): void {
    if (connection) connection.otherHasGone();
    else if (!state.ending) {
      stopListening();
      end({ text: hostHasEnded });
    }
  }
  const stopListening = listen(host, heard, lose);
  // A worker of Node has no `close` event.
  if (host.terminate) host.on?.('exit', lose);

  function heard(data: unknown): void {
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
      ended: end,
    });
    // A thread that blocks could not do it later.
    if (platform.receive !== undefined) begin(offer);
    else
      void holdLock(offer.id, connection.over, () => connection?.post('alive')).then(() =>
        begin(offer),
      );
  }

  function begin({ names }: Offer): void {
    if (connection === undefined || state.ending) return;
    const { endpoint } = connection;
    // From now on, an absent name is a name that is not exposed.
    Object.setPrototypeOf(view, Object.prototype);
    fill(view, endpoint, names);
    connected = view;
    connection.post(
      'accept',
      functions.map(({ name }) => name),
    );
    endpoint.begin(names);
    state.resolveReady();
  }

  // An offer that was made before comes first: then there is no need for another. It may take two turns,
  // as Node looks for messages between them.
  soon(() =>
    soon(() => {
      if (connection === undefined && !state.ending) host.postMessage(message(0, 'hello'));
    }),
  );
  return view as Host<Api>;
}

/** Says what to do about a call that comes too early, or after a bridge was closed that was never connected. */
function unconnected(state: ConnectionState, connected: () => Host<object> | undefined): object {
  const refusalOf = (name: string): unknown => {
    if (state.ending) return unanswered(state.ending, name);
    return new BridgeStateError(
      `${name}() is called before the bridge is connected: await host.ready first`,
      name,
    );
  };
  const throwing = (name: string) => {
    throw refusalOf(name);
  };
  const rejecting = (name: string) => Promise.reject(refusalOf(name));
  return Object.create(unknown(throwing, connected), {
    async: { value: unknown(rejecting, () => connected()?.async) },
    send: { value: unknown(throwing, () => connected()?.send) },
  });
}
