/**
 * One side of a bridge that two threads have agreed on: its endpoint, and the ports by which messages reach
 * the other side.
 *
 * Invariant: it ends once. The side that ends it sends what was written, as far as there is room,
 * and then says so; the other handles all of that before it ends too.
 */

import type { RunInContext } from '../transport/async-context.js';
import type { NamedFunction } from '../transport/functions.js';
import { listen, type Port, platform } from '../transport/platform.js';
import type { Transferable } from '../transport/transfer.js';
import { closedThere, type Ending, hostHasEnded, workerHasEnded } from './ending.js';
import type { BridgeEndpoint } from './endpoint.js';
import { MessageEndpoint } from './message-endpoint.js';
import { message, messageOf, type Offer } from './offer.js';
import { RingEndpoint } from './ring-endpoint.js';
import { ringsOf } from './rings.js';
import { type Role, SharedState } from './shared-state.js';

const noSharedMemory =
  'there is no SharedArrayBuffer, because the page is not cross-origin isolated: serve it with the headers "Cross-Origin-Opener-Policy: same-origin" and "Cross-Origin-Embedder-Policy: require-corp"';

export interface ConnectionOptions {
  readonly role: Role;
  readonly offer: Offer;
  /** The port of the connection, on this side. */
  readonly port: MessagePort;
  /**
   * For values that travel beside a frame, where messages can be received without a return to the event
   * loop. Nobody listens there: in Deno a port that has a listener takes a message some turns before it
   * hands it on, and meanwhile a later one would be received in its place.
   */
  readonly values?: MessagePort | undefined;
  /** The worker, or in a worker its host: another way for messages, see {@link Connection.post}. */
  readonly base: Port;
  readonly functions: readonly NamedFunction[];
  /** Runs calls of the other side in the asynchronous context in which this side was created. */
  readonly run: RunInContext;
  /** The bridge has ended. */
  ended(ending: Ending): void;
}

export class Connection {
  readonly endpoint: BridgeEndpoint;
  readonly #options: ConnectionOptions;
  readonly #port: Port;
  readonly #values: Port | undefined;
  readonly #stopListening: () => void;
  #ended = false;
  /** Whether the next message of the worker's own channel carries values. */
  #isAnnounced = false;
  #letGo = (): void => {};
  /** Resolves when the bridge has ended here and nothing of what was sent can be overtaken by the news of that. */
  readonly over = new Promise<void>((resolve) => {
    this.#letGo = resolve;
  });

  constructor(options: ConnectionOptions) {
    const { role, port, values, base } = options;
    this.#options = options;
    this.#port = port as unknown as Port;
    this.#values = values as unknown as Port | undefined;
    this.endpoint = this.#makeEndpoint();
    this.#stopListening = listen(
      this.#port,
      (data) => this.receive(data),
      () => {
        // A worker of Node tells its host itself that it has ended, and why.
        if (role === 'worker' || base.on === undefined || base.terminate === undefined) {
          this.otherHasGone();
        }
      },
      (cause) => this.#receiveUnreadable(cause),
    );
    this.#port.unref?.();
    // A worker may be bundled for browsers although its host is not.
    if (this.#values && !platform.receive) {
      const unreadable = (cause: unknown) => this.#receiveUnreadable(cause);
      listen(this.#values, (data) => this.receive(data), undefined, unreadable);
    }
  }

  #makeEndpoint(): BridgeEndpoint {
    const { role, offer, functions, run } = this.#options;
    const { memory, maxMessageSize, heartbeatTimeout, spins } = offer;
    const common = {
      functions,
      run,
      post: this.post.bind(this),
      keepAlive: (isBusy: boolean) => {
        if (role === 'worker') this.#port[isBusy ? 'ref' : 'unref']?.();
      },
    };
    if (memory === undefined)
      return new MessageEndpoint({ ...common, cannotBlock: noSharedMemory });
    return new RingEndpoint({
      ...common,
      ...ringsOf(memory, role, (type) => this.post(type)),
      state: new SharedState(memory, role),
      cannotBlock: role === 'host' ? 'a host calls its worker asynchronously' : undefined,
      otherReceives: role === 'worker' || platform.receive !== undefined,
      maxMessageSize,
      heartbeatTimeout,
      spins,
      receive: platform.receive && (() => this.#receiveNow()),
      broken: (text) => this.close({ text }, true),
      // No event tells a thread that is blocked. Node, though it does not say so in its documentation, returns
      // false when a message has nobody to reach; where nothing is returned, the silence has to last.
      isOtherGone: () => this.#port.postMessage(message(offer.id, 'check')) === false,
      otherHasEnded: (hasClosed) =>
        hasClosed ? this.otherHasEnded(closedThere(undefined)) : this.otherHasGone(),
    });
  }

  /**
   * In a browser's worker by its own `postMessage`: in Firefox the messages of a port are held back
   * until a thread that has blocked goes on.
   */
  get #way(): Port {
    const { role, base } = this.#options;
    const isBrowsers = platform.receive === undefined && base === platform.host;
    return role === 'worker' && isBrowsers ? base : this.#port;
  }

  post(type: string, payload?: unknown, transfer: readonly Transferable[] = []): void {
    const way = (type === 'values' && this.#values) || this.#way;
    if (type === 'values' && way === this.#options.base) {
      // User messages of the worker use the same channel: the host must know which message it could not read.
      way.postMessage(message(this.#options.offer.id, 'next'));
    }
    way.postMessage(message(this.#options.offer.id, type, payload), transfer as never);
  }

  /** Receives one message without a return to the event loop; whether there was one. */
  #receiveNow(): boolean {
    let received: { message: unknown } | undefined;
    try {
      received = platform.receive?.(this.#values ?? this.#port);
    } catch (error) {
      this.#receiveUnreadable(error, true);
      return true;
    }
    if (received) this.receive(received.message, true);
    return received !== undefined;
  }

  #receiveUnreadable(cause: unknown, isInFrame = false): void {
    this.#isAnnounced = false;
    if (this.endpoint.receiveUnreadable(cause, isInFrame)) return;
    // The lost message may be a reply, and its call is unknown.
    const said = cause instanceof Error ? `: ${cause.message}` : '';
    this.close({ text: `a message cannot be read${said}` }, true);
  }

  /** Called for an unreadable message of the worker's own channel; it may be a user message. */
  receiveUnreadableOfWorker(cause: unknown): void {
    const { memory } = this.#options.offer;
    if (memory === undefined) this.endpoint.receiveUnreadable(cause, false);
    else if (this.#isAnnounced) this.#receiveUnreadable(cause);
  }

  /** A message has come; `isInFrame`: while a frame is being read. */
  receive(data: unknown, isInFrame = false): void {
    const received = messageOf(data);
    if (received?.[1] !== this.#options.offer.id) return;
    const [, , type, payload] = received;
    this.#isAnnounced = type === 'next';
    if (type !== 'close') this.endpoint.receive(type, payload, isInFrame);
    else if (isInFrame) this.close({ text: String(payload) });
    else this.otherHasEnded({ text: String(payload) });
  }

  /** The thread of the other side is not there any more. */
  otherHasGone(): void {
    const { role } = this.#options;
    this.otherHasEnded({ text: role === 'host' ? workerHasEnded : hostHasEnded });
  }

  /** What the other side has said before it ended is heard still. */
  otherHasEnded(ending: Ending): void {
    if (this.#ended) return;
    this.endpoint.drain();
    const { otherReason } = this.endpoint;
    this.close(otherReason === undefined ? ending : closedThere(otherReason));
  }

  /** Ends the bridge on this side, and tells the other if it is there to be told. */
  close(ending: Ending, tell = false): void {
    // The endpoint may be closed already: one that is blocked learns of the end by itself.
    if (this.#ended) return;
    this.#ended = true;
    const { role } = this.#options;
    if (tell) {
      this.endpoint.takeLeave(ending.reason);
      this.post('close', closedThere(ending.reason).text);
    }
    this.endpoint.close(ending);
    this.#stopListening();
    if (tell && role === 'worker' && platform.receive === undefined) this.#awaitFarewell();
    else {
      // Whoever waits for it, see there.
      if (!tell && role === 'host') this.post('close', ending.text);
      this.#port.close?.();
      this.#letGo();
    }
    this.#values?.close?.();
    this.#options.ended(ending);
  }

  /**
   * In a browser the news that a port is closed, or that a lock is free, can overtake messages that were sent before,
   * in Firefox many of them. So a worker keeps both until the host has heard that the bridge is closed, and says so.
   */
  #awaitFarewell(): void {
    const farewell = (): void => {
      stopListening();
      this.#port.close?.();
      this.#letGo();
    };
    const { id } = this.#options.offer;
    const heard = (data: unknown): void => {
      const received = messageOf(data);
      if (received?.[1] === id && received[2] === 'close') farewell();
    };
    const stopListening = listen(this.#port, heard, farewell);
    this.#port.unref?.();
  }
}
