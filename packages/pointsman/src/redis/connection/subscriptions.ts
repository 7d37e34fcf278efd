/**
 * The connection for messages.
 *
 * Invariant: while the connection is up, the server has every subscription made here that it has not refused.
 */

import { ConnectionLostError } from '../../shared/store.js';
import { type ConnectionEvents, isReply, lossOf, type SubscriberConnection } from './connection.js';
import { ReconnectingConnection, type ReconnectingSocket } from './reconnecting.js';
import type { Adapter, Socket } from './socket.js';

interface Subscription {
  readonly node: ReconnectingSocket;
  readonly listener: (message: string) => void;
  /** The socket on which the server last confirmed it. */
  socket: Socket | undefined;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

export class Subscriptions extends ReconnectingConnection implements SubscriberConnection {
  readonly #channels = new Map<string, Subscription>();

  constructor(adapter: Adapter, events: ConnectionEvents, all: Set<ReconnectingConnection>) {
    super(adapter, 'subscriptions', events, all);
  }

  async subscribe(channel: string, listener: (message: string) => void): Promise<void> {
    const node = this.socketTo(channel);
    await new Promise<void>((resolve, reject) => {
      const subscription: Subscription = {
        node,
        // A message may arrive after the subscription has ended.
        listener: (message) => {
          if (this.#channels.get(channel) === subscription) listener(message);
        },
        socket: undefined,
        resolve,
        reject,
      };
      this.#channels.set(channel, subscription);
      // If the socket is lost, the next one subscribes again.
      if (node.current) this.#confirm(channel, subscription, node.current).catch(() => {});
    });
  }

  async unsubscribe(channel: string): Promise<void> {
    const subscription = this.#channels.get(channel);
    if (!subscription) return;
    this.#channels.delete(channel);
    subscription.resolve();
    try {
      await subscription.node.current?.unsubscribe(channel);
    } catch (error) {
      if (isReply(error)) throw error;
    }
  }

  async ping(): Promise<void> {
    await Promise.all(
      this.sockets.map((socket) =>
        socket.ping().catch((error) => {
          if (!isReply(error)) throw lossOf(error);
        }),
      ),
    );
  }

  async #confirm(channel: string, subscription: Subscription, socket: Socket): Promise<void> {
    try {
      await socket.subscribe(channel, subscription.listener);
    } catch (error) {
      const reason = this.explain(channel, error);
      if (subscription.socket || reason instanceof ConnectionLostError) throw reason;
      this.#channels.delete(channel);
      subscription.reject(reason);
      return;
    }
    subscription.socket = socket;
    subscription.resolve();
  }

  protected override async prepare(node: ReconnectingSocket, socket: Socket): Promise<void> {
    for (;;) {
      const missing = [...this.#channels].filter(
        ([, subscription]) => subscription.node === node && subscription.socket !== socket,
      );
      if (missing.length === 0) return;
      await Promise.all(
        missing.map(([channel, subscription]) => this.#confirm(channel, subscription, socket)),
      );
    }
  }

  override async close(): Promise<void> {
    await super.close();
    for (const subscription of this.#channels.values()) {
      subscription.reject(new ConnectionLostError('The connection is closed'));
    }
    this.#channels.clear();
  }
}
