/**
 * One side of a connected bridge: its endpoint, and the ports over which messages reach the other side.
 *
 * Invariant: a connection ends once. The side that ends it sends the written frames, as far as space allows, and then
 * `close`; the other side handles all of these frames before it ends too.
 */

import type { RunInContext } from '../transport/async-context.js';
import type { NamedFunction } from '../transport/functions.js';
import { listen, type Port, platform } from '../transport/platform.js';
import type { Transferable } from '../transport/transfer.js';
import { closedThere, type Ending } from './ending.js';
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
  readonly port: MessagePort;
  /**
   * Port for values of frames, on platforms with a synchronous receive. It has no listener there: in Deno, a port with
   * a listener dequeues a message some turns before it delivers it, so a synchronous receive would return a later one.
   */
  readonly values?: MessagePort | undefined;
  /** The worker, or in a worker its host. Some messages use it instead of `port`. */
  readonly base: Port;
  readonly functions: readonly NamedFunction[];
  /** Runs calls of the other side in this side's asynchronous context. */
  readonly run: RunInContext;
  /** What has happened when the other thread has ended. */
  readonly goneText: string;
  ended(ending: Ending): void;
}

export class Connection {
  readonly endpoint: BridgeEndpoint;
  readonly #options: ConnectionOptions;
  readonly #port: Port;
  readonly #values: Port | undefined;
  readonly #stopListening: () => void;
  #ended = false;
  /** Whether the next message of the worker itself contains values of a frame. */
  #isAnnounced = false;
  #finish = (): void => {};
  /** Resolves when the bridge has ended and no notice of that can overtake earlier messages. */
  readonly finished = new Promise<void>((resolve) => {
    this.#finish = resolve;
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
        // A Node worker emits `exit` and `error` events instead, which state the cause.
        if (role === 'worker' || base.on === undefined || base.terminate === undefined) {
          this.otherIsGone();
        }
      },
      (cause) => this.#receiveUnreadable(cause),
    );
    this.#port.unref?.();
    // The worker may be bundled for browsers even if its host is not.
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
      // A blocked thread receives no events. In Node, `postMessage` returns false (undocumented) if the other end is
      // closed. Elsewhere the heartbeat timeout decides.
      isOtherGone: () => this.#port.postMessage(message(offer.id, 'check')) === false,
      otherHasEnded: (hasClosed) =>
        hasClosed ? this.otherHasEnded(closedThere(undefined)) : this.otherIsGone(),
    });
  }

  /** In a browser worker, the worker's own `postMessage`: Firefox delays messages over a port while the sender blocks. */
  get #target(): Port {
    const { role, base } = this.#options;
    const isBrowsers = platform.receive === undefined && base === platform.host;
    return role === 'worker' && isBrowsers ? base : this.#port;
  }

  post(type: string, payload?: unknown, transfer: readonly Transferable[] = []): void {
    const target = (type === 'values' && this.#values) || this.#target;
    if (type === 'values' && target === this.#options.base) {
      // User messages arrive the same way: the host must know which message was unreadable.
      target.postMessage(message(this.#options.offer.id, 'next'));
    }
    target.postMessage(message(this.#options.offer.id, type, payload), transfer as never);
  }

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
    // The unreadable message may be a reply to an unknown call.
    const reason = cause instanceof Error ? `: ${cause.message}` : '';
    this.close({ text: `a message cannot be read${reason}` }, true);
  }

  /** Called for an unreadable message of the worker itself, which may be a user message. */
  receiveUnreadableOfWorker(cause: unknown): void {
    const { memory } = this.#options.offer;
    if (memory === undefined) this.endpoint.receiveUnreadable(cause, false);
    else if (this.#isAnnounced) this.#receiveUnreadable(cause);
  }

  receive(data: unknown, isInFrame = false): void {
    const received = messageOf(data);
    if (received?.[1] !== this.#options.offer.id) return;
    const [, , type, payload] = received;
    this.#isAnnounced = type === 'next';
    if (type !== 'close') this.endpoint.receive(type, payload, isInFrame);
    else if (isInFrame) this.close({ text: String(payload) });
    else this.otherHasEnded({ text: String(payload) });
  }

  otherIsGone(): void {
    this.otherHasEnded({ text: this.#options.goneText });
  }

  /** Called when the other side has ended the bridge. Handles its remaining frames first. */
  otherHasEnded(ending: Ending): void {
    if (this.#ended) return;
    this.endpoint.drain();
    const { otherReason } = this.endpoint;
    this.close(otherReason === undefined ? ending : closedThere(otherReason));
  }

  /** Ends the bridge on this side. `notify`: also notifies the other side. */
  close(ending: Ending, notify = false): void {
    // A blocked endpoint detects the end itself, so this may be the second call.
    if (this.#ended) return;
    this.#ended = true;
    const { role } = this.#options;
    if (notify) {
      this.endpoint.sendClose(ending.reason);
      this.post('close', closedThere(ending.reason).text);
    }
    this.endpoint.close(ending);
    this.#stopListening();
    if (notify && role === 'worker' && platform.receive === undefined) this.#awaitCloseReply();
    else {
      // A browser worker waits for this reply: see #awaitCloseReply.
      if (!notify && role === 'host') this.post('close', ending.text);
      this.#port.close?.();
      this.#finish();
    }
    this.#values?.close?.();
    this.#options.ended(ending);
  }

  /**
   * In a browser, the notice of a closed port or a free lock can overtake earlier messages, in Firefox many of them. So
   * the worker keeps both until the host has confirmed the close.
   */
  #awaitCloseReply(): void {
    const finish = (): void => {
      stopListening();
      this.#port.close?.();
      this.#finish();
    };
    const { id } = this.#options.offer;
    const onMessage = (data: unknown): void => {
      const received = messageOf(data);
      if (received?.[1] === id && received[2] === 'close') finish();
    };
    const stopListening = listen(this.#port, onMessage, finish);
    this.#port.unref?.();
  }
}
