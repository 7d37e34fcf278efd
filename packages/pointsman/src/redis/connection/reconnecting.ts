/**
 * Connections that are made again when they are lost, over sockets that connect once.
 *
 * Invariant: a command is given to one socket only, so that no library can send it a second time.
 */

import { nextMicrotask } from '../../sync/wait/give-up.js';
import { type ConnectionEvents, ConnectionLostError, isReply, lossOf } from './connection.js';
import type { Adapter, Purpose, Socket, SocketEvents } from './socket.js';

/** How long a socket may take to become ready: a half-open connection never does. */
const patience = 3_000;
const firstRetry = 50;
const lastRetry = 1_000;

/** Where a cluster has moved the slot to is found by connecting again. */
const moved = /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN) /;

/** What comes of it is no matter: node-redis 5 throws for a socket that has closed by itself. */
function discard(socket: Socket): void {
  try {
    socket.destroy();
  } catch {}
}

/** Sockets to one place, one after the other: a new one when the last is lost. */
export class ReconnectingSocket {
  /** The one that is ready, if any. */
  current: Socket | undefined;
  /** Why there is none. */
  reason: unknown;
  /** What waits for the first attempt to come to an end. */
  held: (() => void)[] | undefined = [];
  readonly #open: (events: SocketEvents) => Promise<Socket>;
  readonly #prepare: (place: ReconnectingSocket, socket: Socket) => Promise<void>;
  readonly #changed: (place: ReconnectingSocket) => void;
  /** Loses the one that is ready or being opened. */
  #lose: ((reason: unknown, again: number) => void) | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;

  constructor(
    open: (events: SocketEvents) => Promise<Socket>,
    prepare: (place: ReconnectingSocket, socket: Socket) => Promise<void>,
    changed: (place: ReconnectingSocket) => void,
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
      lose(reason, Math.min(firstRetry * 2 ** this.#failures++, lastRetry));
    const ready = async (): Promise<void> => {
      const socket = await opened;
      await this.#prepare(this, socket);
      if (over) return;
      clearTimeout(timer);
      this.#failures = 0;
      this.current = socket;
      // What has been asked for since the preparation ended has not found it yet.
      this.#prepare(this, socket).catch(lost);
      this.#settle();
    };
    const timer = setTimeout(
      () => lost(new Error(`no connection within ${patience} ms`)),
      patience,
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

/** A connection: one place, or in a cluster as many as it has needed. It is up while all of them are. */
export abstract class ReconnectingConnection {
  readonly #adapter: Adapter;
  readonly #purpose: Purpose;
  readonly #events: ConnectionEvents;
  readonly #all: Set<ReconnectingConnection>;
  readonly #places = new Map<number, ReconnectingSocket>();
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
    // Which places of a cluster are needed shows with the first key.
    if (adapter.slotOf) nextMicrotask.then(() => this.#changed());
    else this.socketTo('');
  }

  protected prepare(_place: ReconnectingSocket, _socket: Socket): Promise<void> {
    return Promise.resolve();
  }

  protected socketTo(key: string): ReconnectingSocket {
    if (this.#state === 'closed') throw new ConnectionLostError('The connection is closed');
    const slot = this.#adapter.slotOf?.(key) ?? 0;
    let place = this.#places.get(slot);
    if (!place) {
      place = new ReconnectingSocket(
        (events) => this.#adapter.open(this.#purpose, events, key),
        (place, socket) => this.prepare(place, socket),
        (place) => this.#changed(place),
      );
      this.#places.set(slot, place);
    }
    return place;
  }

  /** Those that are ready. */
  protected get sockets(): Socket[] {
    return [...this.#places.values()].flatMap(({ current }) => current ?? []);
  }

  #changed(place?: ReconnectingSocket): void {
    if (this.#state === 'closed') return;
    if (place && !place.current) {
      if (this.#state === 'down') return;
      this.#state = 'down';
      this.#events.down(lossOf(place.reason));
    } else if (this.#state !== 'up') {
      for (const { current } of this.#places.values()) if (!current) return;
      this.#state = 'up';
      this.#events.up();
    }
  }

  /** What a failed command rejects with. */
  protected explain(key: string, error: unknown): unknown {
    if (!isReply(error)) return lossOf(error);
    if (!this.#adapter.slotOf || !moved.test(error.message)) return error;
    const slot = this.#adapter.slotOf(key);
    // Not every version of the libraries tells a subscriber that its channel has moved.
    for (const connection of this.#all) connection.#places.get(slot)?.drop(error, firstRetry);
    return lossOf(error);
  }

  reconnect(): void {
    for (const place of this.#places.values()) {
      place.drop(new ConnectionLostError('The connection was dropped'), 0);
    }
  }

  async close(): Promise<void> {
    this.#state = 'closed';
    this.#all.delete(this);
    for (const place of this.#places.values()) {
      place.close(new ConnectionLostError('The connection is closed'));
    }
  }
}
