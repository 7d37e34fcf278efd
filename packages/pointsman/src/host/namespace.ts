/**
 * A namespace as its server keeps it: the state of the protocol, and which process each client is.
 *
 * Invariant: it depends only on the snapshot and the records, so a successor that reads them has the same.
 */

import { apply } from '../shared/protocol/apply.js';
import { type Batch, type Message, processOf, type Reply } from '../shared/protocol/protocol.js';
import { emptyState, RequestQueues, type State } from '../shared/protocol/state.js';
import { parse, stringify } from './json.js';
import { type Identity, isDead } from './processes.js';

/** What changes a namespace. A client is a session's process, by the name of its channel. */
export type Change =
  | { readonly kind: 'batch'; readonly batch: Batch }
  | { readonly kind: 'came'; readonly client: string; readonly identity: Identity }
  /** The client has ended, and so have its sessions. */
  | { readonly kind: 'gone'; readonly client: string };

export type Send = (client: string, message: Message, secret: string) => void;

/** A session of the server itself, which exists only within a batch. */
const OWN = 'server.0';

/** When the earlier state was lost, in microseconds of the namespace's clock; undefined if there was none. */
export type LostAt = number | undefined;

export class Namespace {
  #state: State = emptyState();
  #clients = new Map<string, Identity>();
  readonly #run: string;
  #requests: State['requests'] | undefined;
  #queues!: RequestQueues;
  readonly #lostAt: LostAt;

  constructor(run: string, lostAt: LostAt, snapshot?: string) {
    this.#run = run;
    this.#lostAt = lostAt;
    if (snapshot === undefined) return;
    const { state, clients } = parse(snapshot) as { state: State; clients: Map<string, Identity> };
    this.#state = { ...this.#state, ...state };
    this.#clients = clients;
  }

  /** Forgets clients without a session, unless they are to be kept, and returns the rest as text. */
  snapshot(isKept: (client: string) => boolean): string {
    const active = new Set([...this.#state.sessions.keys()].map(processOf));
    for (const client of this.#clients.keys()) {
      if (!active.has(client) && !isKept(client)) this.#clients.delete(client);
    }
    return stringify({ state: this.#state, clients: this.#clients });
  }

  /** The last token that was issued. */
  get token(): number {
    return this.#state.clock?.token ?? 0;
  }

  /** The time up to which the clock was read, in microseconds. */
  get seen(): number {
    return (this.#state.clock?.seen ?? 0) * 1000;
  }

  change(change: Change, now: number, send: Send): Reply | undefined {
    switch (change.kind) {
      case 'batch':
        return this.#apply(change.batch, now, send);
      case 'came':
        this.#clients.set(change.client, change.identity);
        return undefined;
      case 'gone':
        this.#clients.delete(change.client);
        this.#end(change.client, now, send);
        return undefined;
    }
  }

  /** The clients whose process has died, of those that are not known to be alive. */
  dead(isAlive: (client: string) => boolean): string[] {
    return [...this.#clients].flatMap(([client, identity]) =>
      !isAlive(client) && isDead(identity) ? client : [],
    );
  }

  #end(client: string, now: number, send: Send): void {
    const ended = [...this.#state.sessions.keys()].filter((each) => processOf(each) === client);
    if (ended.length === 0) return;
    const operations = [...ended, OWN].map((session) => ({ name: 'leave', session }) as const);
    const batch = { session: OWN, ttl: 1, incarnation: 0, join: 'new', secret: '', operations };
    this.#apply(batch as Batch, now, send);
  }

  /** Queues are kept while a request waits: to build those of 10,000 requests takes 2 ms. */
  #queuesOf(requests: State['requests']): RequestQueues {
    if (requests !== this.#requests || requests.size === 0) {
      this.#requests = requests;
      this.#queues = new RequestQueues(requests);
    }
    return this.#queues;
  }

  #apply(batch: Batch, now: number, send: Send): Reply {
    return apply(this.#state, batch, {
      now,
      uptime: this.#lostAt === undefined ? Number.POSITIVE_INFINITY : (now - this.#lostAt) / 1000,
      run: this.#run,
      queues: (requests) => this.#queuesOf(requests),
      // Sessions whose connection has ended ask again when they are back, so none is missed.
      announce: () => 0,
      // A client that is not connected now may come back. One that has died is `gone` before anything is sent to it.
      send: (client, message, secret) => {
        send(client, message, secret);
        return 1;
      },
    });
  }
}
