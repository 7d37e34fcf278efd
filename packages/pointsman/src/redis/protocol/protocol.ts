/**
 * What the processes of a namespace say to the server: batches of operations, and their answers.
 *
 * A batch is applied as a whole, its operations in order; `docs/lock-protocol.md` describes the state
 * behind it. Invariant: every operation may be sent again after a lost answer. A request is known by
 * its id, so the second time finds what the first has done; only a notification may wake twice.
 */

/** How the session stands: it may be begun, it must exist, or it is begun after one that was lost. */
export type Join = 'new' | 'must' | 'again';

export type Operation =
  /**
   * Locks all of `keys`, or queues for them; takes those of `optional` that nobody holds or waits for.
   * `tokens` is how many fencing tokens to reserve.
   */
  | {
      readonly name: 'lock';
      readonly id: string;
      readonly tokens: number;
      readonly wait: boolean;
      readonly keys: readonly string[];
      readonly optional: readonly string[];
    }
  /** Frees those of `keys` that the request holds, and takes it out of the queue if it is there. */
  | { readonly name: 'unlock'; readonly id: string; readonly keys: readonly string[] }
  /**
   * Frees those of `keys` that the request holds with this token, and tells its process. Anybody may
   * send it.
   */
  | {
      readonly name: 'take';
      readonly id: string;
      readonly token: number;
      readonly keys: readonly string[];
    }
  /** Whether the request still holds all of `keys`, and whether somebody waits for one of them. */
  | { readonly name: 'check'; readonly id: string; readonly keys: readonly string[] }
  /** Parks a request for `keys` until somebody notifies the condition. */
  | {
      readonly name: 'wait';
      readonly id: string;
      readonly condition: string;
      readonly keys: readonly string[];
    }
  /** Queues a parked request for its keys although nobody has notified it. */
  | { readonly name: 'wake'; readonly id: string }
  /** Queues the first `count` requests parked at the condition for their keys. */
  | { readonly name: 'notify'; readonly condition: string; readonly count: number }
  | { readonly name: 'reserve'; readonly tokens: number }
  /** Renews the session's lease and ends sessions whose lease has run out. */
  | { readonly name: 'renew' }
  /** Ends a session and all it holds and waits for. */
  | { readonly name: 'leave'; readonly session: string }
  | { readonly name: 'query' };

export interface Batch {
  readonly session: string;
  /** Milliseconds. */
  readonly ttl: number;
  /** Grows with each connection: what an older one delivers late is refused as stale. */
  readonly incarnation: number;
  readonly join: Join;
  /**
   * The namespace's time, in milliseconds, that has certainly come by the sender's monotonic clock: what
   * it was told last, and how long ago that was. 0 if it has not been told.
   */
  readonly time?: number;
  /** Which run of the server the connection was made to, by the beginning of its id, if it tells. */
  readonly run?: string | undefined;
  /** The word with which messages to the session are signed; no other client can guess it. */
  readonly secret: string;
  readonly operations: readonly Operation[];
}

/** A request that has been granted its keys. */
export interface Grant {
  readonly id: string;
  /** The first of the tokens reserved for it. */
  readonly token: number;
  /** Whether somebody waits for one of its keys. */
  readonly contended: boolean;
  /** The optional keys that it was granted too. */
  readonly extra: readonly string[];
}

export type Result =
  | { readonly name: 'held'; readonly grant: Grant }
  /** `left`: milliseconds until the lease of a holder runs out; Infinity if nobody holds the keys. */
  | { readonly name: 'queued'; readonly left: number }
  | { readonly name: 'busy' }
  | { readonly name: 'number'; readonly value: number }
  | { readonly name: 'check'; readonly held: boolean; readonly contended: boolean }
  /** `next`: milliseconds until the first lease of another session runs out, or undefined. */
  | { readonly name: 'renewed'; readonly next: number | undefined }
  | { readonly name: 'query'; readonly state: Query };

/** What a namespace holds, by request. */
export interface Query {
  /** From key to `<id> <token>`. */
  readonly locks: ReadonlyMap<string, string>;
  readonly requests: ReadonlyMap<string, Request>;
}

/** A request in the queue, as the server keeps it. */
export interface Request {
  /** Its place: lower goes first. A decimal number in a string, as it may exceed what JSON keeps. */
  readonly order: string;
  readonly tokens: number;
  readonly keys: readonly string[];
  readonly optional?: readonly string[];
  /** It is parked there and not in the queue for its keys. */
  readonly condition?: string;
  /** The condition that has woken it; passed on if its process turns out to be gone. */
  readonly notified?: string;
}

export type Reply =
  /** The session does not exist; nothing was done. */
  | { readonly name: 'lost' }
  /** A newer connection of this session has spoken; nothing was done. */
  | { readonly name: 'stale' }
  | {
      readonly name: 'done';
      /** Milliseconds that the session's lease had left. */
      readonly left: number;
      /** The namespace's time in milliseconds. */
      readonly time: number;
      readonly results: readonly Result[];
      /** Requests of this session that were granted while the batch was applied. */
      readonly grants: readonly Grant[];
    };

/** What a process is told in its channel. */
export type Message =
  | { readonly name: 'held'; readonly grant: Grant }
  /** Somebody else waits for a key of this request. */
  | { readonly name: 'revoke'; readonly id: string }
  /** What the request was granted with this token was taken from it by force. */
  | { readonly name: 'taken'; readonly id: string; readonly token: number }
  /** The state of the namespace is new: whoever held something has lost it. */
  | { readonly name: 'lost' };

/** A request whose id ends so may be asked to come back: its process hands over among its own tasks. */
export const REVOCABLE = '~';

export const sessionOf = (id: string): string => id.slice(0, id.indexOf('/'));
export const processOf = (session: string): string => session.slice(0, session.lastIndexOf('.'));
