/**
 * A subject of this table: one library, used as its own documentation says, or a part of the platform.
 *
 * Each form below is one primitive. A missing form is absent here, and then the subject is not in the cells that need
 * it. Every member is one static call into the library, which the optimising compiler can inline; `create` prepares
 * what a call needs.
 */
import type { Subject } from '../../harness/table.js';

/** A channel from senders to receivers. */
export interface ChannelForm<
  Library = unknown,
  Channel = unknown,
  Received = unknown,
  Item = unknown,
> {
  /** The supported ones of 0 (rendezvous), 1, 10, 100 and Infinity. */
  readonly capacities: readonly number[];
  create(library: Library, capacity: number): Channel;
  /** Waits for space. */
  send?(channel: Channel, value: number, library: Library): Promise<unknown>;
  /** Synchronous, if there is space. */
  push?(channel: Channel, value: number, library: Library): unknown;
  receive?(channel: Channel, library: Library): Promise<Received>;
  /** The value received; absent if the result is the value itself. */
  value?(received: Received): number;
  iterate?(channel: Channel, library: Library): AsyncIterable<Item>;
  /** The value of an iterator's item; absent if the item is the value itself. */
  item?(item: Item): number;
  close?(channel: Channel, library: Library): unknown;
}

export type Take = (value: number) => void;

/** The same for libraries with their own form of loops. Values count from 0. */
export interface ChannelLoops<Library = unknown> {
  readonly capacities: readonly number[];
  /** Each sender and each receiver has an equal share. */
  pass?(
    library: Library,
    work: { capacity: number; senders: number; receivers: number; values: number },
    take: Take,
  ): Promise<unknown>;
  /** All values are sent before the first is received. */
  burst?(library: Library, values: number, take: Take): Promise<unknown>;
  /** Ends when the sender closes. */
  iterate?(library: Library, capacity: number, values: number, take: Take): Promise<unknown>;
}

/** One sender, and receivers that each get every value. */
export interface BroadcastForm<
  Library = unknown,
  Hub = unknown,
  Receiver = unknown,
  Received = unknown,
> {
  create(library: Library, capacity: number): Promise<Hub>;
  subscribe(hub: Hub, library: Library): Promise<Receiver>;
  send(hub: Hub, value: number, library: Library): unknown;
  receive(receiver: Receiver, library: Library): Promise<Received>;
  value?(received: Received): number;
}

/** The latest value only, and receivers that wait for a change. */
export interface WatchForm<
  Library = unknown,
  Hub = unknown,
  Receiver = unknown,
  Received = unknown,
> {
  create(library: Library): Promise<Hub>;
  subscribe(hub: Hub, library: Library): Promise<Receiver>;
  send(hub: Hub, value: number, library: Library): unknown;
  changed(receiver: Receiver, library: Library): Promise<Received>;
  value?(received: Received): number;
}

export interface RwLockForm<Library = unknown, Lock = unknown, Read = unknown, Write = unknown> {
  /** Floors only: there is no mutual exclusion. */
  readonly lacksExclusion?: true;
  create(library: Library): Lock;
  read(lock: Lock): Promise<Read>;
  endRead(lock: Lock, permit: Read): unknown;
  write(lock: Lock): Promise<Write>;
  endWrite(lock: Lock, permit: Write): unknown;
}

export type Work = () => Promise<void>;

/** The same for libraries that run a function and unlock by themselves. */
export interface RwLockRunForm<Library = unknown, Lock = unknown> {
  create(library: Library): Lock;
  runRead(lock: Lock, work: Work, library: Library): Promise<unknown>;
  runWrite(lock: Lock, work: Work, library: Library): Promise<unknown>;
}

export interface Rate {
  readonly limit: number;
  /** Milliseconds. */
  readonly per: number;
}

export type Rule = 'concurrency' | 'rate' | 'both';

export interface LimiterForm<Library = unknown, Limiter = unknown> {
  /** Floors only: there is no limit. */
  readonly limitsNothing?: true;
  readonly rules: readonly Rule[];
  /** True if each start waits at any rate, so its cost cannot be separated from the wait. */
  readonly alwaysWaits?: true;
  /** The maximum number of functions in a batch, if each takes long. */
  readonly most?: number;
  /** Without such a rule, concurrency is Infinity and rate is absent. */
  create(library: Library, rule: { concurrency: number; rate: Rate | undefined }): Limiter;
  run(limiter: Limiter, work: Work): Promise<unknown>;
}

/** A limit on concurrency for each key. */
export interface KeyedForm<Library = unknown, Limiter = unknown> {
  readonly limitsNothing?: true;
  /** The maximum number of keys in a batch, if each takes long. */
  readonly most?: number;
  create(library: Library, concurrency: number): Limiter;
  run(limiter: Limiter, key: string, work: Work): Promise<unknown>;
}

export type Mapper = (input: number) => Promise<number>;

/** Maps all inputs through an async function with bounded concurrency, the results in order. */
export interface MapForm<Library = unknown> {
  readonly limitsNothing?: true;
  map(
    library: Library,
    inputs: readonly number[],
    mapper: Mapper,
    concurrency: number,
  ): Promise<readonly number[]>;
}

/** Waits for the first of several channels. */
export interface SelectForm<Library = unknown, Sources = unknown, Received = unknown> {
  create(library: Library, sources: number): Sources;
  /** Sends a value to one of them; without a waiter, it is kept. */
  feed(sources: Sources, index: number, value: number, library: Library): unknown;
  first(sources: Sources, library: Library): Promise<Received>;
  value?(received: Received): number;
  /** The number of waiters left behind; absent if the library does not report it. */
  left?(sources: Sources): number;
}

export interface VocabularySubject<
  Library = unknown,
  Channel = unknown,
  Received = unknown,
  Item = unknown,
  Hub = unknown,
  Told = unknown,
  Heard = unknown,
  Watched = unknown,
  Watcher = unknown,
  Seen = unknown,
  Lock = unknown,
  Read = unknown,
  Write = unknown,
  RunLock = unknown,
  Limiter = unknown,
  Keyed = unknown,
  Sources = unknown,
  First = unknown,
> extends Subject {
  /** Imports only the library, so that a cell's process loads no other subject. */
  load(): Promise<Library>;
  /** Why it is not installed; the report then shows this instead of figures. */
  missing?(): string | undefined;
  readonly channel?: ChannelForm<Library, Channel, Received, Item>;
  readonly channelLoops?: ChannelLoops<Library>;
  readonly broadcast?: BroadcastForm<Library, Hub, Told, Heard>;
  readonly watch?: WatchForm<Library, Watched, Watcher, Seen>;
  readonly rwLock?: RwLockForm<Library, Lock, Read, Write>;
  readonly rwLockRun?: RwLockRunForm<Library, RunLock>;
  readonly limiter?: LimiterForm<Library, Limiter>;
  readonly keyed?: KeyedForm<Library, Keyed>;
  readonly map?: MapForm<Library>;
  readonly select?: SelectForm<Library, Sources, First>;
}

/** Infers the library's own types, so that a subject is checked against them. */
export function defineSubject<L, C, R, I, H, T, E, D, W, S, K, P, Q, U, M, Y, O, F>(
  subject: VocabularySubject<L, C, R, I, H, T, E, D, W, S, K, P, Q, U, M, Y, O, F>,
): VocabularySubject {
  return subject as VocabularySubject;
}
