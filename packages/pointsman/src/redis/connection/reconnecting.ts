/**
 * Connections that are established again after a loss, over sockets that connect once; and the connection for commands.
 *
 * Invariant: a command is passed to one socket only, so no library can send it twice. It has one reply or rejects.
 */

import { ConnectionLostError } from '../../shared/store.js';
import { nextMicrotask } from '../../sync/wait/give-up.js';
import { type CommandConnection, type ConnectionEvents, isReply, lossOf } from './connection.js';
import type { Adapter, Purpose, Socket, SocketEvents } from './socket.js';

/** Milliseconds that a socket may take to become ready; a half-open connection never does. */
const CONNECT_PATIENCE = 3_000;
const FIRST_RETRY = 50;
const LAST_RETRY = 1_000;

/** Errors after which another node may have the slot. Reconnecting finds it. */
const MOVED = /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN) /;

/** Ignores errors: node-redis 5 throws if the socket has closed by itself. */
function discard(socket: Socket): void {
  try {
    socket.destroy();
  } catch {}
}

/** A sequence of sockets to one node: when one is lost, the next is opened. */
export class ReconnectingSocket {
  current: Socket | undefined;
  reason: unknown;
  /** Commands that wait for the end of the first attempt; undefined after it. */
  held: (() => void)[] | undefined = [];
  readonly #open: (events: SocketEvents) => Promise<Socket>;
  readonly #prepare: (node: ReconnectingSocket, socket: Socket) => Promise<void>;
  readonly #changed: (node: ReconnectingSocket) => void;
  /** Loses the socket that is ready or being opened. */
  #lose: ((reason: unknown, again: number) => void) | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;

  constructor(
    open: (events: SocketEvents) => Promise<Socket>,
    prepare: (node: ReconnectingSocket, socket: Socket) => Promise<void>,
    changed: (node: ReconnectingSocket) => void,
  ) {
    this.#open = open;
    this.#prepare = prepare;
    this.#changed = changed;
    this.#connect();
  }

  #connect(): void {
    let socket: Socket | undefined;
    let over = false;
    const lose = (reason: unknown, again: number): void => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      this.#lose = undefined;
      this.current = undefined;
      this.reason = reason;
      if (socket) discard(socket);
      if (again < Number.POSITIVE_INFINITY) {
        this.#retry = setTimeout(() => this.#connect(), again);
      }
      this.#settle();
    };
    const lost = (reason: unknown): void =>
      lose(reason, Math.min(FIRST_RETRY * 2 ** this.#failures++, LAST_RETRY));
    const ready = async (): Promise<void> => {
      const socket = await opened;
      await this.#prepare(this, socket);
      if (over) return;
      clearTimeout(timer);
      this.#failures = 0;
      this.current = socket;
      // Prepares what was added after the preparation and before the socket became current.
      this.#prepare(this, socket).catch(lost);
      this.#settle();
    };
    const timer = setTimeout(
      () => lost(new Error(`no connection within ${CONNECT_PATIENCE} ms`)),
      CONNECT_PATIENCE,
    );
    this.#lose = lose;
    const opened = this.#open({ ready: () => ready().catch(lost), lost });
    opened.then((made) => {
      socket = made;
      if (over) discard(made);
    }, lost);
  }

  #settle(): void {
    const held = this.held;
    this.held = undefined;
    for (const proceed of held ?? []) proceed();
    this.#changed(this);
  }

  drop(reason: unknown, again: number): void {
    if (this.current) this.#lose?.(reason, again);
  }

  close(reason: unknown): void {
    clearTimeout(this.#retry);
    this.#lose?.(reason, Number.POSITIVE_INFINITY);
  }
}

/** A connection to one node, or in a cluster to all nodes that it has needed. It is up while all of them are. */
export abstract class ReconnectingConnection {
  readonly #adapter: Adapter;
  readonly #purpose: Purpose;
  readonly #events: ConnectionEvents;
  readonly #all: Set<ReconnectingConnection>;
  readonly #nodes = new Map<number, ReconnectingSocket>();
  #state: 'new' | 'up' | 'down' | 'closed' = 'new';

  constructor(
    adapter: Adapter,
    purpose: Purpose,
    events: ConnectionEvents,
    all: Set<ReconnectingConnection>,
  ) {
    this.#adapter = adapter;
    this.#purpose = purpose;
    this.#events = events;
    this.#all = all;
    all.add(this);
    // In a cluster, the first key determines the node.
    if (adapter.slotOf) nextMicrotask.then(() => this.#changed());
    else this.socketTo('');
  }

  protected prepare(_node: ReconnectingSocket, _socket: Socket): Promise<void> {
    return Promise.resolve();
  }

  protected socketTo(key: string): ReconnectingSocket {
    if (this.#state === 'closed') throw new ConnectionLostError('The connection is closed');
    const slot = this.#adapter.slotOf?.(key) ?? 0;
    let node = this.#nodes.get(slot);
    if (!node) {
      node = new ReconnectingSocket(
        (events) => this.#adapter.open(this.#purpose, events, key),
        (node, socket) => this.prepare(node, socket),
        (node) => this.#changed(node),
      );
      this.#nodes.set(slot, node);
    }
    return node;
  }

  protected get sockets(): Socket[] {
    return [...this.#nodes.values()].flatMap(({ current }) => current ?? []);
  }

  #changed(node?: ReconnectingSocket): void {
    if (this.#state === 'closed') return;
    if (node && !node.current) {
      if (this.#state === 'down') return;
      this.#state = 'down';
      this.#events.down(lossOf(node.reason));
    } else if (this.#state !== 'up') {
      for (const { current } of this.#nodes.values()) if (!current) return;
      this.#state = 'up';
      this.#events.up();
    }
  }

  /** Converts the error of a failed command. */
  protected explain(key: string, error: unknown): unknown {
    if (!isReply(error)) return lossOf(error);
    if (!this.#adapter.slotOf || !MOVED.test(error.message)) return error;
    const slot = this.#adapter.slotOf(key);
    // Some versions of the libraries do not notify a subscriber that its channel has moved.
    for (const connection of this.#all) connection.#nodes.get(slot)?.drop(error, FIRST_RETRY);
    return lossOf(error);
  }

  reconnect(): void {
    for (const node of this.#nodes.values()) {
      node.drop(new ConnectionLostError('The connection was dropped'), 0);
    }
  }

  async close(): Promise<void> {
    this.#state = 'closed';
    this.#all.delete(this);
    for (const node of this.#nodes.values()) {
      node.close(new ConnectionLostError('The connection is closed'));
    }
  }
}

export class Commands extends ReconnectingConnection implements CommandConnection {
  constructor(adapter: Adapter, events: ConnectionEvents, all: Set<ReconnectingConnection>) {
    super(adapter, 'commands', events, all);
  }

  call(key: string, ...command: string[]): Promise<unknown> {
    let node: ReconnectingSocket;
    try {
      node = this.socketTo(key);
    } catch (error) {
      return Promise.reject(error);
    }
    // Not an async function, which would cost each command another promise.
    const send = (): Promise<unknown> =>
      node.current ? node.current.send(command) : Promise.reject(lossOf(node.reason));
    const { held } = node;
    const reply = held ? new Promise((resolve) => held.push(() => resolve(send()))) : send();
    return reply.catch((error) => {
      throw this.explain(key, error);
    });
  }
}
