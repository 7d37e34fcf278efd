/**
 * The server of a namespace: applies what its clients ask for, one turn of the event loop at a time.
 *
 * Invariant: nothing leaves a turn before its changes are in the journal and the journal is then found to be current. A
 * server that has a successor ends its connections instead; its clients ask the successor again.
 */

import type { Batch, Message, Reply } from '../shared/protocol/protocol.js';
import { signMessage } from '../shared/protocol/wire.js';
import { monotonic } from './clock.js';
import type { Journal } from './journal.js';
import type { Change, Namespace } from './namespace.js';
import { type Identity, isDead } from './processes.js';
import { RecordWriter, textOf } from './records.js';

/** The server's end of a connection. What a turn passes to it leaves with `flush`. */
export interface Peer {
  readonly identity: Identity;
  reply(reply: Reply): void;
  done(): void;
  refused(reason: string): void;
  message(client: string, text: string): void;
  flush(): void;
  /** The server has ended. */
  end(): void;
}

export type Request =
  | { readonly kind: 'batch'; readonly batch: Batch; readonly text: string | Buffer }
  /** A client begins or ends. The channel of all, '', needs no listener: nothing is announced there. */
  | { readonly kind: 'listen' | 'unlisten'; readonly client: string }
  | { readonly kind: 'ping' }
  /** What was sent is no request. */
  | { readonly kind: 'malformed'; readonly reason: string };

/** The clock and the run, which a server's successors keep as long as the state is kept. */
export interface Origin {
  /** How far the namespace's clock is ahead of that of the machine, in microseconds. */
  readonly ahead: number;
  readonly run: string;
  readonly lostAt: number | undefined;
}

/** The size in bytes at which a journal is replaced by a shorter one, so that a successor reads it in milliseconds. */
const LONG_JOURNAL = 262_144;
/** The number of requests in a turn. One batch may take milliseconds. */
const TURN = 16;
/** Milliseconds between looks at the journal of an idle server. */
const IDLE_CHECK = 500;
/** Milliseconds after which to look again whether a process that has dropped its connection has died. */
const DEATH_CHECKS = [0, 1, 4, 16, 64];

interface Entry {
  readonly peer: Peer | undefined;
  readonly request: Request | Change | { readonly kind: 'left'; readonly bye: boolean };
}

export class Server {
  /** Resolves when the server has ended. */
  readonly ended: Promise<void>;
  /** Resolves when it has a second connection. */
  readonly shared: Promise<void>;
  readonly #namespace: Namespace;
  readonly #origin: Origin;
  readonly #address: string;
  readonly #header: string;
  #journal: Journal;
  #shortest: number;
  readonly #peers = new Map<Peer, Set<string>>();
  /** The connections that listen for messages to a client. */
  readonly #listeners = new Map<string, Peer>();
  #entries: Entry[] = [];
  readonly #records = new RecordWriter();
  readonly #dirty = new Set<Peer>();
  readonly #idle: NodeJS.Timeout;
  #end!: () => void;
  #share!: () => void;
  #over = false;

  constructor(
    namespace: Namespace,
    journal: Journal,
    origin: Origin,
    address: string,
    header: string,
  ) {
    this.#namespace = namespace;
    this.#journal = journal;
    this.#origin = origin;
    this.#address = address;
    this.#header = header;
    this.#shortest = journal.size;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.shared = new Promise((resolve) => {
      this.#share = resolve;
    });
    this.#idle = setInterval(() => this.#look(), IDLE_CHECK).unref();
  }

  get run(): string {
    return this.#origin.run;
  }

  join(peer: Peer): void {
    if (this.#over) {
      peer.end();
      return;
    }
    this.#peers.set(peer, new Set());
    if (this.#peers.size > 1) this.#share();
  }

  /** Answers a new client at once, before queued requests, to show that the server is alive. */
  greet(peer: Peer): void {
    if (!this.#journal.current) this.#stop();
    if (this.#over) return;
    peer.done();
    peer.flush();
  }

  /** A connection has ended; with `bye`, because its clients have. */
  leave(peer: Peer, bye: boolean): void {
    // In order with its last requests.
    this.#add({ peer, request: { kind: 'left', bye } });
  }

  request(peer: Peer, request: Request): void {
    this.#add({ peer, request });
  }

  /** Ends the server, and with it its connections. Its successor continues where it has stopped. */
  close(): void {
    if (this.#over) return;
    while (this.#entries.length > 0) this.#turn();
    this.#stop();
  }

  #stop(): void {
    if (this.#over) return;
    this.#over = true;
    clearInterval(this.#idle);
    this.#entries = [];
    const peers = [...this.#peers.keys()];
    this.#peers.clear();
    for (const peer of peers) peer.end();
    this.#journal.close();
    this.#end();
  }

  #add(entry: Entry): void {
    if (this.#over) return;
    // All that has arrived shares one write.
    if (this.#entries.push(entry) === 1) setImmediate(() => this.#turn());
  }

  #look(): void {
    if (!this.#journal.current) {
      this.#stop();
      return;
    }
    this.#journal.touch();
    // A client that the predecessor knew may have died before it connected to this server.
    this.#gone(this.#namespace.dead(this.#isConnected));
  }

  readonly #isConnected = (client: string): boolean => this.#listeners.has(client);

  #gone(clients: readonly string[]): void {
    for (const client of clients) {
      if (!this.#isConnected(client))
        this.#add({ peer: undefined, request: { kind: 'gone', client } });
    }
  }

  /**
   * Ends the sessions of a process that has died. One that lives has only lost its connection, or ended the thread that
   * had it; its sessions end with their leases. A process closes its connections shortly before it has died.
   */
  #checkDeath(identity: Identity, clients: readonly string[], check: number): void {
    if (this.#over) return;
    if (isDead(identity)) {
      this.#gone(clients);
      return;
    }
    const delay = DEATH_CHECKS[check];
    if (delay === undefined) return;
    setTimeout(() => this.#checkDeath(identity, clients, check + 1), delay).unref();
  }

  #turn(): void {
    if (this.#over) return;
    const entries = this.#entries.splice(0, TURN);
    // What is left waits for new connections and for the ends of others.
    if (this.#entries.length > 0) setImmediate(() => this.#turn());
    const now = this.#origin.ahead + monotonic();
    try {
      for (const { peer, request } of entries) this.#record(peer, request, now);
      const records = this.#records.take();
      if (records.length > 0) this.#journal.append(records);
    } catch (error) {
      this.#records.take();
      if (!this.#journal.current) {
        this.#stop();
        return;
      }
      const reason = `its journal cannot be written: ${(error as Error).message}`;
      for (const { peer } of entries) if (peer !== undefined) this.#to(peer)?.refused(reason);
      this.#flush();
      return;
    }
    for (const { peer, request } of entries) this.#perform(peer, request, now);
    if (!this.#journal.current) {
      this.#stop();
      return;
    }
    this.#flush();
    if (this.#journal.size > Math.max(LONG_JOURNAL, 2 * this.#shortest)) this.#shorten();
  }

  #record(peer: Peer | undefined, request: Entry['request'], now: number): void {
    const { kind } = request;
    if (kind === 'batch') {
      this.#records.add(kind, now, 'text' in request ? request.text : textOf(request));
    } else if (kind === 'gone' || kind === 'unlisten') {
      this.#records.add('gone', now, request.client);
    } else if (kind === 'listen' && peer !== undefined && request.client !== '') {
      const { client } = request;
      this.#records.add('came', now, textOf({ kind: 'came', client, identity: peer.identity }));
    }
  }

  #perform(peer: Peer | undefined, request: Entry['request'], now: number): void {
    const to = peer && this.#to(peer);
    switch (request.kind) {
      case 'batch': {
        const reply = this.#change({ kind: 'batch', batch: request.batch }, now);
        if (typeof reply === 'string') to?.refused(reply);
        else if (reply !== undefined) to?.reply(reply);
        return;
      }
      case 'listen':
        if (peer !== undefined) this.#listen(peer, request.client, now);
        to?.done();
        return;
      case 'unlisten':
        if (peer !== undefined) this.#peers.get(peer)?.delete(request.client);
        this.#listeners.delete(request.client);
        this.#change({ kind: 'gone', client: request.client }, now);
        to?.done();
        return;
      case 'ping':
        to?.done();
        return;
      case 'malformed':
        to?.refused(request.reason);
        return;
      case 'gone':
        this.#change(request, now);
        return;
      case 'left':
        if (peer !== undefined) this.#leave(peer, request.bye);
    }
  }

  #leave(peer: Peer, bye: boolean): void {
    const clients = this.#peers.get(peer);
    if (clients === undefined) return;
    this.#peers.delete(peer);
    this.#dirty.delete(peer);
    const left = [...clients].filter((client) => this.#listeners.get(client) === peer);
    for (const client of left) this.#listeners.delete(client);
    if (bye) this.#gone(left);
    else if (left.length > 0) this.#checkDeath(peer.identity, left, 0);
  }

  #listen(peer: Peer, client: string, now: number): void {
    // The peer may have ended within this turn.
    const clients = this.#peers.get(peer);
    if (clients === undefined || client === '') return;
    clients.add(client);
    this.#listeners.set(client, peer);
    this.#change({ kind: 'came', client, identity: peer.identity }, now);
  }

  /** Returns the reason if the change has failed, which its successor would find too. */
  #change(change: Change, now: number): Reply | string | undefined {
    try {
      return this.#namespace.change(change, now, this.#send);
    } catch (error) {
      return `it cannot apply the batch: ${(error as Error).message}`;
    }
  }

  readonly #send = (client: string, message: Message, secret: string): void => {
    const peer = this.#listeners.get(client);
    if (peer !== undefined) this.#to(peer)?.message(client, signMessage(message, secret));
  };

  /** Returns the peer if it is still connected. */
  #to(peer: Peer): Peer | undefined {
    if (!this.#peers.has(peer)) return undefined;
    this.#dirty.add(peer);
    return peer;
  }

  #flush(): void {
    const peers = [...this.#dirty];
    this.#dirty.clear();
    for (const peer of peers) peer.flush();
  }

  /** Continues with a journal that begins with the state. */
  #shorten(): void {
    let next: Journal | undefined;
    try {
      next = this.#journal.next(
        this.#address,
        this.#header,
        this.#namespace.snapshot(this.#isConnected),
      );
    } catch {
      // No space: the journal stays long until there is.
      this.#shortest = this.#journal.size;
      return;
    }
    if (next === undefined) {
      this.#stop();
      return;
    }
    this.#journal.close();
    this.#journal = next;
    this.#shortest = next.size;
  }
}
