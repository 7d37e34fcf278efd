/** The calls that the runner makes to a client process, and their messages. */
import type { Lock, Setting } from '../subjects/subject.js';

/** The parameters of a client process. */
export interface Start {
  /** The module of the lock. */
  readonly subject: string;
  readonly setting: Setting;
  /** The file of its history. */
  readonly history: string;
}

/** Tasks that repeatedly think, acquire a lock, hold it and release it. */
export interface Work {
  readonly tasks: number;
  /** Tasks of different groups have no key in common; tasks of one group always have one. */
  readonly groups: number;
  /** Milliseconds, chosen at random between the two. */
  readonly think: readonly [number, number];
  readonly hold: readonly [number, number];
  /** The share of the locks that is held for `hold` milliseconds instead. */
  readonly long?: { readonly share: number; readonly hold: readonly [number, number] };
  /** The share of the requests that is cancelled, by a timeout or a signal, within up to `within` milliseconds. */
  readonly giveUp?: { readonly share: number; readonly within: number };
}

export interface Figures {
  readonly entered: number;
  /** Rejections of lock(), by the error's name and code. */
  readonly rejected: Readonly<Record<string, number>>;
  readonly heap: number;
}

/** A lock() that has not settled. */
export interface Pending {
  readonly keys: readonly string[];
  readonly milliseconds: number;
}

export interface Calls {
  /** Starts the tasks. */
  work(work: Work): void;
  /** Ends the tasks. Returns the requests that did not settle within the time. */
  drain(milliseconds: number): Promise<Pending[]>;
  /** Locks each of the sets and holds it until `letGo`. Returns the number of locks granted. */
  hold(keySets: readonly (readonly string[])[]): Promise<number>;
  letGo(): Promise<void>;
  /** Queues a request for each of the sets, and holds each for `stay` milliseconds. Returns at once. */
  queue(keySets: readonly (readonly string[])[], stay: number): void;
  /** Makes `requests` concurrent requests for the same keys, and cancels each within up to `within` milliseconds. */
  storm(keys: readonly string[], requests: number, within: number): Promise<void>;
  /** The holders and waiters of all clients, as the server knows them. */
  query(): ReturnType<Lock['query']>;
  /** Retries until each of the sets was locked once. Returns whether that succeeded within the time. */
  prove(keySets: readonly (readonly string[])[], milliseconds: number): Promise<boolean>;
  /** Blocks the event loop. */
  block(milliseconds: number): void;
  /** Shifts `Date` by an offset. */
  setDate(milliseconds: number): void;
  figures(): Figures;
  close(): Promise<void>;
}
