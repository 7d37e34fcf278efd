/**
 * The messages between the processes of a namespace and the server: batches of operations, and their replies.
 *
 * A batch is applied as a whole, its operations in order; `docs/lock-protocol.md` describes the state.
 *
 * Invariant: every operation may be sent again after a lost reply. A request is identified by its id, so the second copy
 * finds the effect of the first; only a notification may wake two waiters.
 */

import type { CountRequest, CountResult } from './counters.js';
import type { StartGroup, StartRequest, StartResult } from './starts.js';

/**
 * Whether the session may be new, must exist, or replaces one that was lost; `none` if all operations are of limiters, or
 * all are of counters, which neither need nor begin a session.
 */
export type Join = 'new' | 'must' | 'again' | 'none';

/** How a request shares its keys; a request without it holds them alone. */
export interface Share {
  /** What it takes of each key's limit: an integer from 1 on. */
  readonly weight: number;
  /** The highest sum of the weights on a key, unless an operation `limit` has set another one; 0 for none. */
  readonly limit: number;
}

/** A key that a request has to hold. */
export interface HeldKey {
  readonly id: string;
  readonly key: string;
}

export type Operation =
  /**
   * Locks all of `keys`, or queues for them: alone, or shared with other requests that share. Also locks those of
   * `optional` that are free and have no waiters; a shared request has none. `tokens` is the number of fencing tokens to
   * reserve.
   */
  | {
      readonly name: 'lock';
      readonly id: string;
      readonly tokens: number;
      readonly wait: boolean;
      readonly keys: readonly string[];
      readonly optional: readonly string[];
      readonly share?: Share;
    }
  /** Turns those of `keys` that the request holds alone into shared ones, of weight 1. */
  | { readonly name: 'downgrade'; readonly id: string; readonly keys: readonly string[] }
  /** Sets the limit of a shared key, for all requests, until the namespace is empty. */
  | { readonly name: 'limit'; readonly key: string; readonly limit: number }
  /** Frees those of `keys` that the request holds, and removes it from the queue. */
  | { readonly name: 'unlock'; readonly id: string; readonly keys: readonly string[] }
  /** Frees those of `keys` that the request holds with this token, and notifies its process. Any session may send it. */
  | {
      readonly name: 'take';
      readonly id: string;
      readonly token: number;
      readonly keys: readonly string[];
    }
  /** Returns whether the request still holds all of `keys`, and whether another request waits for one of them. */
  | { readonly name: 'check'; readonly id: string; readonly keys: readonly string[] }
  /** Parks a request for `keys` until the condition is notified. */
  | {
      readonly name: 'wait';
      readonly id: string;
      readonly condition: string;
      readonly keys: readonly string[];
    }
  /** Queues a parked request for its keys without a notification. */
  | { readonly name: 'wake'; readonly id: string }
  /** Queues the first `count` requests parked at the condition for their keys. */
  | { readonly name: 'notify'; readonly condition: string; readonly count: number }
  | { readonly name: 'reserve'; readonly tokens: number }
  /** Renews the session's lease, and ends expired sessions. */
  | { readonly name: 'renew' }
  | { readonly name: 'leave'; readonly session: string }
  | { readonly name: 'query' }
  /**
   * Requests a start from the rates of limiters, now or after a delay. If it is sent again, it may count twice. Has no effect
   * unless the requests `held` hold their keys by now: it is then refused, with the delay that the rates require.
   */
  | ({ readonly name: 'start'; readonly held?: readonly HeldKey[] } & StartRequest)
  /** Adds to the weight of a start, or gives some of it back. Never sent again. */
  | {
      readonly name: 'correct';
      readonly groups: readonly StartGroup[];
      /** As in the result of the start. */
      readonly at: readonly number[];
    }
  /** Lets nothing start at a limiter for some microseconds. */
  | { readonly name: 'penalize'; readonly limiter: string; readonly time: number }
  /** Adds hits to a counter, or reads it. If sent again, it may count twice; never repeat one that subtracts. */
  | ({ readonly name: 'count' } & CountRequest)
  /** Deletes a counter: the next hit begins a window. */
  | { readonly name: 'forget'; readonly counter: string };

export interface Batch {
  readonly session: string;
  /** Milliseconds. */
  readonly ttl: number;
  /** Grows with each connection: a batch that arrives late from an older one is refused as stale. */
  readonly incarnation: number;
  readonly join: Join;
  /**
   * The time, in milliseconds, that the namespace has certainly reached by the sender's monotonic clock: the time in the
   * last reply plus the time since. 0 if there was no reply.
   */
  readonly time?: number;
  /** The beginning of the run id of the server that the connection was made to, if known. */
  readonly run?: string | undefined;
  /** Signs messages to the session. */
  readonly secret: string;
  readonly operations: readonly Operation[];
}

export interface Grant {
  readonly id: string;
  /** The first of the tokens reserved for it. */
  readonly token: number;
  /** Whether another request waits for one of the keys. */
  readonly contended: boolean;
  /** The granted optional keys. */
  readonly extra: readonly string[];
}

export type Result =
  | { readonly name: 'held'; readonly grant: Grant }
  /** `left`: milliseconds until the lease of a holder ends; Infinity if the keys have no holder. */
  | { readonly name: 'queued'; readonly left: number }
  | { readonly name: 'busy' }
  | { readonly name: 'number'; readonly value: number }
  | { readonly name: 'check'; readonly held: boolean; readonly contended: boolean }
  /** `next`: milliseconds until the first lease of another session ends, or undefined. */
  | { readonly name: 'renewed'; readonly next: number | undefined }
  | { readonly name: 'query'; readonly state: Query }
  | StartResult
  | CountResult;

/** What a request holds of a key. */
export interface Hold {
  readonly id: string;
  readonly token: number;
  /** 0 if it holds the key alone. */
  readonly weight: number;
}

export interface Query {
  /** The holders by key: one without a weight, or those that share it. */
  readonly locks: ReadonlyMap<string, readonly Hold[]>;
  readonly requests: ReadonlyMap<string, Request>;
}

/** A request in the queue, as the server stores it. */
export interface Request {
  /** Its place: lower goes first. Decimal text, because it may exceed the numbers of JSON in Lua. */
  readonly order: string;
  readonly tokens: number;
  readonly keys: readonly string[];
  readonly optional?: readonly string[];
  readonly share?: Share;
  /** The condition at which it is parked; it is then not in the queue for its keys. */
  readonly condition?: string;
  /** The condition whose notification has woken it. The notification is passed on if its process has died. */
  readonly notified?: string;
}

export type Reply =
  /** The session does not exist; the batch had no effect. */
  | { readonly name: 'lost' }
  /** A newer connection of the session has sent a batch; this one had no effect. */
  | { readonly name: 'stale' }
  | {
      readonly name: 'done';
      /** Milliseconds until the lease ends. */
      readonly left: number;
      /** The namespace's time in milliseconds. */
      readonly time: number;
      readonly results: readonly Result[];
      /** Further requests of the session granted by the batch. */
      readonly grants: readonly Grant[];
    };

export type Message =
  | { readonly name: 'held'; readonly grant: Grant }
  /** Another request waits for a key of this request. */
  | { readonly name: 'revoke'; readonly id: string }
  /** `forceUnlock` took the lock that the request was granted with this token. */
  | { readonly name: 'taken'; readonly id: string; readonly token: number }
  /** The state of the namespace is new: all holders have lost their locks. */
  | { readonly name: 'lost' };

/** The end of the id of a request that may be revoked: its process hands keys over among its own tasks. */
export const REVOCABLE = '~';

export const sessionOf = (id: string): string => id.slice(0, id.indexOf('/'));
export const processOf = (session: string): string => session.slice(0, session.lastIndexOf('.'));
