/**
 * The connection of a process to the server of a namespace, shared by the sessions of a store.
 *
 * Invariant: if the server does not answer or has ended, the first process that can takes over. Each loss causes one
 * `suspend` of every session, followed by one `resume`.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { StoreError } from '../shared/errors.js';
import type { Batch, Reply } from '../shared/protocol/protocol.js';
import { ConnectionLostError, type LinkObserver } from '../shared/store.js';
import { VERSION } from './frames.js';
import { Place } from './place.js';
import type { Server } from './server.js';
import { find, type Header, isFromEarlierBoot, succeed } from './succession.js';
import { type ServerThread, startThread } from './threads.js';
import {
  DirectTransport,
  SocketTransport,
  type Transport,
  type TransportEvents,
} from './transport.js';

interface Pending {
  readonly at: number;
  resolve(reply: Reply | undefined): void;
  reject(error: Error): void;
}

interface Channel {
  readonly observers: Set<LinkObserver>;
  /** The number of the connection on which the server has received it; 0 while there is none. */
  confirmed: number;
}

/** Milliseconds between attempts to connect: the first and the longest. */
const FIRST_RETRY = 1;
const LAST_RETRY = 50;
/**
 * Milliseconds for which a client waits for an answer, twice: a quarter of a lease within these bounds, so that leases
 * outlive a stopped server. Half a lease if several servers in a row seem stopped, because the machine is busy then.
 */
const SHORTEST_PATIENCE = 100;
const LONGEST_PATIENCE = 1_000;
/** Milliseconds for which a silent server is remembered. */
const BUSY_FOR = 30_000;

export class HostConnection {
  readonly #namespace: string;
  readonly #directory: string | undefined;
  readonly #ttl: number;
  #patience: number;
  readonly #observers = new Set<LinkObserver>();
  readonly #channels = new Map<string, Channel>();
  #place: Place | undefined;
  #transport: Transport | undefined;
  /** The server, while this thread serves the namespace. */
  #server: Server | undefined;
  #thread: ServerThread | undefined;
  /** That of the last connection. */
  run: string | undefined;
  /** The address of the server. */
  #address = '';
  /** The address of one that has not answered. */
  #silent = '';
  #silentAt = 0;
  /** The address of one that has not answered once. */
  #doubted = '';
  /** Counts connections. */
  #generation = 0;
  /** Requests without an answer, in order. */
  #pending: Pending[] = [];
  #watch: NodeJS.Timeout | undefined;
  #watchedAt = 0;
  #suspecting = false;
  /** When the server last answered a new connection while a request had no answer. */
  #provenAt = 0;
  #reason: unknown = new ConnectionLostError('not connected yet');
  #connecting: Promise<void> | undefined;
  #closed = false;

  constructor(namespace: string, directory: string | undefined, ttl: number) {
    this.#namespace = namespace;
    this.#directory = directory;
    this.#ttl = ttl;
    this.#patience = this.#shortestPatience;
  }

  get #shortestPatience(): number {
    return Math.min(Math.max(this.#ttl / 4, SHORTEST_PATIENCE), LONGEST_PATIENCE);
  }

  get unused(): boolean {
    return this.#observers.size === 0;
  }

  add(observer: LinkObserver): void {
    this.#observers.add(observer);
    const transport = this.#transport;
    if (transport === undefined) {
      observer.suspend(this.#reason);
      this.#connect();
      return;
    }
    // By then the observer has its link.
    queueMicrotask(() => {
      const isUp = this.#transport === transport && this.#observers.has(observer);
      if (isUp) observer.resume(this.run);
    });
  }

  delete(observer: LinkObserver): void {
    this.#observers.delete(observer);
  }

  async exchange(batch: Batch): Promise<Reply> {
    const reply = this.#request((transport) => transport.batch(batch));
    return (await reply) as Reply;
  }

  async listen(name: string, observer: LinkObserver): Promise<void> {
    const channel = this.#channels.get(name) ?? { observers: new Set(), confirmed: 0 };
    this.#channels.set(name, channel);
    channel.observers.add(observer);
    if (channel.confirmed > 0 || this.#transport === undefined) return;
    await this.#listen(name, channel).catch((error) => {
      // The next server receives the channel before any batch.
      if (!(error instanceof ConnectionLostError)) throw error;
    });
  }

  unlisten(name: string, observer: LinkObserver): void {
    const channel = this.#channels.get(name);
    if (!channel?.observers.delete(observer) || channel.observers.size > 0) return;
    this.#channels.delete(name);
    this.#request((transport) => transport.send('unlisten', name)).catch(() => {});
  }

  continuity(name: string, observer: LinkObserver): number {
    const channel = this.#channels.get(name);
    return channel?.observers.has(observer) ? channel.confirmed : 0;
  }

  /** Sends a request, because only one without an answer shows that a server does not answer. */
  probe(): void {
    if (this.#pending.length === 0) this.#request((transport) => transport.ping()).catch(() => {});
  }

  reconnect(): void {
    if (this.#transport === undefined) return;
    this.#transport.close(false);
    this.#down();
  }

  /** Tries again after a refusal. */
  renew(): void {
    this.#connect();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#connecting;
    clearInterval(this.#watch);
    const transport = this.#transport;
    this.#transport = undefined;
    transport?.close(true);
    this.#refusePending('closed');
    this.#server?.close();
    await this.#thread?.close();
    this.#place?.close();
  }

  #request(send: (transport: Transport) => void): Promise<Reply | undefined> {
    return new Promise((resolve, reject) => {
      const transport = this.#transport;
      if (transport === undefined) throw new ConnectionLostError('not connected');
      this.#pending.push({ at: performance.now(), resolve, reject });
      send(transport);
    });
  }

  async #listen(name: string, channel: Channel): Promise<void> {
    channel.confirmed = this.#generation;
    await this.#request((transport) => transport.send('listen', name));
  }

  async #listenAgain(name: string, channel: Channel): Promise<void> {
    const transport = this.#transport;
    try {
      await this.#listen(name, channel);
    } catch (error) {
      if (error instanceof ConnectionLostError) return;
      // The server has no space for its journal.
      channel.confirmed = 0;
      await delay(this.#patience, undefined, { ref: false });
      if (this.#transport === transport) this.reconnect();
    }
  }

  // --- connecting ---

  #connect(): void {
    if (this.#closed || this.#transport !== undefined || this.#connecting !== undefined) return;
    this.#connecting = this.#attempts().then(
      () => {
        this.#connecting = undefined;
        // The connection may have been lost at once.
        this.#connect();
      },
      (error) => {
        this.#connecting = undefined;
        this.#reason = error;
        for (const observer of this.#observers) observer.suspend(error);
      },
    );
  }

  async #attempts(): Promise<void> {
    for (let wait = FIRST_RETRY; !this.#closed; wait = Math.min(2 * wait, LAST_RETRY)) {
      this.#place ??= Place.open(this.#namespace, this.#directory);
      try {
        if (await this.#attempt(this.#place)) return;
      } catch (error) {
        // The folder was deleted: the next attempt makes it.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        this.#place.close();
        this.#place = undefined;
      }
      await delay(wait * (0.5 + Math.random()));
    }
  }

  /** Resolves to whether the connection is made, or is not needed any more. */
  async #attempt(place: Place): Promise<boolean> {
    const found = find(place);
    const header = found?.header;
    if (header !== undefined && header.address !== this.#silent && !isFromEarlierBoot(header)) {
      const reached = await this.#reach(place, header);
      if (reached !== 'dead') return reached === 'up';
    }
    const server = await succeed(place, found);
    if (server === undefined) return false;
    if (this.#closed) {
      server.close();
      return true;
    }
    this.#serve(server);
    return true;
  }

  /** Connects to a server. A busy one may accept later; a silent one counts as dead. */
  async #reach(place: Place, header: Header): Promise<'up' | 'busy' | 'dead'> {
    let transport: SocketTransport;
    try {
      transport = await SocketTransport.open(place.pathOf(header.address));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      return code === 'ECONNREFUSED' || code === 'ENOENT' ? 'dead' : 'busy';
    }
    if (header.version !== VERSION) {
      transport.close(false);
      throw new StoreError(
        `the namespace is served by another release of pointsman: version ${header.version}, not ${VERSION}`,
      );
    }
    const outcome = await transport.greet(header.secret, this.#patience);
    if (outcome === 'ready' && !this.#closed) {
      transport.use(this.#events(transport));
      this.#up(transport, header.run, header.address);
      return 'up';
    }
    transport.close(false);
    if (outcome !== 'silent') return 'busy';
    const again = this.#doubted === header.address;
    this.#doubted = header.address;
    if (!again) return 'busy';
    this.#note(header.address);
    return 'dead';
  }

  /** Serves the namespace from this thread until it has a second connection, then from a thread of its own. */
  #serve(server: Server): void {
    this.#server = server;
    const transport = new DirectTransport(server);
    transport.use(this.#events(transport));
    this.#up(transport, server.run, '');
    void server.ended.then(() => {
      if (this.#server === server) this.#server = undefined;
    });
    void server.shared.then(async () => {
      if (this.#closed || this.#server !== server) return;
      const thread = startThread(this.#namespace, this.#directory);
      this.#thread = thread;
      void thread.ended.then(() => {
        if (this.#thread === thread) this.#thread = undefined;
      });
      // Without a thread, a busy event loop of this process makes the others wait.
      if (await thread.serving) server.close();
    });
  }

  /** Ignores late answers of an earlier transport: they are not for the requests of the current one. */
  #events(transport: Transport): TransportEvents {
    return {
      answered: (reply, refusal) => {
        if (this.#transport !== transport) return;
        const pending = this.#pending.shift();
        if (refusal === undefined) pending?.resolve(reply);
        else pending?.reject(new StoreError(refusal));
      },
      message: (name, text) => {
        if (this.#transport !== transport) return;
        for (const observer of this.#channels.get(name)?.observers ?? []) observer.receive(text);
      },
      down: () => {
        if (this.#transport === transport) this.#down();
      },
    };
  }

  #up(transport: Transport, run: string, address: string): void {
    this.#transport = transport;
    this.run = run;
    this.#address = address;
    this.#silent = '';
    this.#generation++;
    for (const [name, channel] of this.#channels) void this.#listenAgain(name, channel);
    this.#watchedAt = performance.now();
    this.#watch = setInterval(() => this.#look(transport), this.#patience / 2).unref();
    for (const observer of this.#observers) observer.resume(run);
  }

  #down(): void {
    this.#transport = undefined;
    clearInterval(this.#watch);
    for (const channel of this.#channels.values()) channel.confirmed = 0;
    this.#reason = new ConnectionLostError('the server has ended');
    this.#refusePending('the server has ended');
    for (const observer of this.#observers) observer.suspend(this.#reason);
    this.#connect();
  }

  #refusePending(why: string): void {
    const pending = this.#pending;
    this.#pending = [];
    for (const { reject } of pending) reject(new ConnectionLostError(why));
  }

  #note(silent: string): void {
    const now = performance.now();
    const again = this.#silentAt > 0 && now - this.#silentAt < BUSY_FOR;
    const longer = Math.max(this.#ttl / 2, SHORTEST_PATIENCE);
    this.#patience = again ? Math.min(2 * this.#patience, longer) : this.#shortestPatience;
    this.#silent = silent;
    this.#silentAt = now;
  }

  /** Drops the connection to a server that answers neither its requests nor a new connection. */
  #look(transport: Transport): void {
    const now = performance.now();
    // If this thread was busy itself, an answer may be waiting to be read.
    const wasBusy = now - this.#watchedAt > this.#patience;
    this.#watchedAt = now;
    const [first] = this.#pending;
    if (wasBusy || first === undefined || this.#suspecting || this.#server !== undefined) return;
    if (now - Math.max(first.at, this.#provenAt) < this.#patience) return;
    this.#suspecting = true;
    void this.#isSilent().then((silent) => {
      this.#suspecting = false;
      this.#provenAt = performance.now();
      if (!silent || this.#transport !== transport || this.#pending[0] !== first) return;
      this.#note(this.#address);
      this.reconnect();
    });
  }

  /** Whether the server does not answer a new connection, which it answers before other requests. */
  async #isSilent(): Promise<boolean> {
    const header = this.#place && find(this.#place)?.header;
    // Another server will be found after this one has ended its connections.
    if (header?.address !== this.#address) return true;
    try {
      const probe = await SocketTransport.open((this.#place as Place).pathOf(header.address));
      const outcome = await probe.greet(header.secret, this.#patience);
      probe.close(false);
      return outcome !== 'ready';
    } catch {
      return true;
    }
  }
}
