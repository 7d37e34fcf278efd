/** What the runner can ask of a client process, and the messages in which it does. */
import type { Lock, Setting } from '../subjects/subject.js';

/** What a client process is told at its start. */
export interface Start {
  /** The module of the lock. */
  readonly subject: string;
  readonly setting: Setting;
  /** The file of its history. */
  readonly history: string;
}

/** Tasks that think, lock, stay for a while and release, again and again. */
export interface Work {
  readonly tasks: number;
  /** Tasks of different groups have no key in common; tasks of one group always have one. */
  readonly groups: number;
  /** In milliseconds, at random between the two. */
  readonly think: readonly [number, number];
  readonly hold: readonly [number, number];
  /** This share of the locks is held so long instead. */
  readonly long?: { readonly share: number; readonly hold: readonly [number, number] };
  /** This share of the requests is given up, by a timeout or a signal, after up to so long. */
  readonly giveUp?: { readonly share: number; readonly within: number };
}

export interface Figures {
  readonly entered: number;
  /** How often lock() rejected, by the error's name and code. */
  readonly rejected: Readonly<Record<string, number>>;
  readonly heap: number;
}

/** A lock() that has not been answered. */
export interface Pending {
  readonly keys: readonly string[];
  readonly milliseconds: number;
}

export interface Calls {
  /** Starts the tasks. */
  work(work: Work): void;
  /** Lets them end, and says what was not answered within the time. */
  drain(milliseconds: number): Promise<Pending[]>;
  /** Locks each of the sets and holds it until `letGo`. Answers how many it got. */
  hold(keySets: readonly (readonly string[])[]): Promise<number>;
  letGo(): Promise<void>;
  /** Asks for each of the sets, and stays for so long in each. Answers at once. */
  queue(keySets: readonly (readonly string[])[], stay: number): void;
  /** Asks so often for the same keys at once, and gives up each request after up to so long. */
  storm(keys: readonly string[], requests: number, within: number): Promise<void>;
  /** Which holders and waiters the server knows, of all clients. */
  query(): ReturnType<Lock['query']>;
  /** Tries until it has entered once with each of the sets. Answers whether it did within the time. */
  prove(keySets: readonly (readonly string[])[], milliseconds: number): Promise<boolean>;
  /** Blocks the event loop. */
  block(milliseconds: number): void;
  /** Makes `Date` wrong by so much. */
  setDate(milliseconds: number): void;
  figures(): Figures;
  close(): Promise<void>;
}

export type Request = {
  [Name in keyof Calls]: {
    readonly number: number;
    readonly name: Name;
    readonly values: Parameters<Calls[Name]>;
  };
}[keyof Calls];

export interface Answer {
  readonly number: number;
  readonly value?: unknown;
  readonly error?: string;
}
