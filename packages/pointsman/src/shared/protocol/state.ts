/**
 * The state that the server keeps of a namespace, and what a batch sees of its environment.
 */

import type { CounterState } from './counters.js';
import type { Hold, Message, Request } from './protocol.js';
import type { StartsState } from './starts.js';

export interface Clock {
  /** The last token issued, which is also the last place in the queue. */
  token: number;
  /** The namespace's own time in milliseconds. */
  time: number;
  /** The time on the server's clock, in milliseconds, up to which it has been counted. */
  seen: number;
  /**
   * Whether a span longer than any lease was left uncounted, and no session with something to lose has sent a batch
   * since.
   */
  doubted: boolean;
  /** The run of the server that wrote the state, if known. */
  run: string | undefined;
}

export interface SessionRecord {
  /** The end of its lease, in the namespace's time. */
  expires: number;
  incarnation: number;
  ttl: number;
  secret: string;
}

export interface State {
  clock: Clock | undefined;
  /** The request that holds each key alone, and its token. */
  locks: Map<string, { id: string; token: number }>;
  /** The requests that share each other held key, in the order of their grants. */
  shares: Map<string, readonly Hold[]>;
  /** The limits of shared keys that were set. */
  limits: Map<string, number>;
  sessions: Map<string, SessionRecord>;
  requests: Map<string, Request>;
  /** Nothing is granted before this time of the namespace, because earlier locks may still be in use. */
  guard: number | undefined;
  /** Independent of the rest. In the order in which they were used or looked at. */
  limiters: Map<string, StartsState>;
  /** As the limiters. */
  counters: Map<string, CounterState>;
}

export const emptyState = (): State => ({
  clock: undefined,
  locks: new Map(),
  shares: new Map(),
  limits: new Map(),
  sessions: new Map(),
  requests: new Map(),
  guard: undefined,
  limiters: new Map(),
  counters: new Map(),
});

/** The environment of a batch. */
export interface World {
  /** The server's clock in microseconds. */
  readonly now: number;
  /** Milliseconds since the start of the server. */
  readonly uptime: number;
  /** The run of the server. Read only if the state is, or seems to be, from another run. */
  readonly run: string | undefined;
  /** Returns the queues of an earlier batch on the same requests. Without it, they are built anew. */
  queues?(requests: Map<string, Request>): RequestQueues;
  /** Sends a message to all holders of the namespace; returns how many connections received it. */
  announce(message: Message): number;
  /** Sends a signed message to the process of a session; returns how many connections received it. */
  send(process: string, message: Message, secret: string): number;
}

type Kind = 'key' | 'condition';

/**
 * The queues of the keys and conditions of a namespace.
 *
 * They are built on first use, because most batches need none. A request that has left is dropped when it is the first.
 */
export class RequestQueues {
  readonly #requests: Map<string, Request>;
  #queues: Record<Kind, Map<string, { id: string; request: Request }[]>> | undefined;

  constructor(requests: Map<string, Request>) {
    this.#requests = requests;
  }

  first(name: string, kind: Kind = 'key'): string | undefined {
    if (this.#queues === undefined) {
      this.#queues = { key: new Map(), condition: new Map() };
      const inOrder = [...this.#requests].sort((a, b) => +a[1].order - +b[1].order);
      for (const [id, request] of inOrder) this.#push(id, request);
    }
    const queue = this.#queues[kind].get(name);
    while (queue?.[0] && this.#requests.get(queue[0].id) !== queue[0].request) queue.shift();
    if (queue?.length === 0) this.#queues[kind].delete(name);
    return queue?.[0]?.id;
  }

  /** Adds a request; its order is higher than that of all earlier ones. */
  add(id: string, request: Request): void {
    this.#requests.set(id, request);
    if (this.#queues !== undefined) this.#push(id, request);
  }

  #push(id: string, request: Request): void {
    const { keys, condition } = request;
    const queues = this.#queues?.[condition === undefined ? 'key' : 'condition'];
    for (const name of condition === undefined ? keys : [condition]) {
      const queue = queues?.get(name);
      if (queue === undefined) queues?.set(name, [{ id, request }]);
      else queue.push({ id, request });
    }
  }
}
