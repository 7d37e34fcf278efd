/**
 * What a subject of this table is: one library, used as its own documentation says, or what the platform
 * itself offers.
 *
 * Each form below is one piece of the vocabulary; what a library lacks is absent here, and then the subject is
 * not in the cells that need it. Every member is one static call into the library, which the optimising
 * compiler can inline; what a call needs is prepared by `create`.
 */
import type { Subject } from '../../harness/table.js';

/** Values passed on from who sends to who receives. */
export interface ChannelForm<
  Library = unknown,
  Channel = unknown,
  Received = unknown,
  Item = unknown,
> {
  /** Those that it can have of 0 (rendezvous), 1, 10, 100 and Infinity. */
  readonly capacities: readonly number[];
  create(library: Library, capacity: number): Channel;
  /** Waits for room. */
  send?(channel: Channel, value: number, library: Library): Promise<unknown>;
  /** Synchronous, where there is room. */
  push?(channel: Channel, value: number, library: Library): unknown;
  receive?(channel: Channel, library: Library): Promise<Received>;
  /** What was received; absent where it is the value itself. */
  value?(received: Received): number;
  iterate?(channel: Channel, library: Library): AsyncIterable<Item>;
  /** What an iterator gave; absent where it is the value itself. */
  item?(item: Item): number;
  close?(channel: Channel, library: Library): unknown;
}

export type Take = (value: number) => void;

/** The same for libraries whose loops are written in their own way. Values count from 0. */
export interface ChannelLoops<Library = unknown> {
  readonly capacities: readonly number[];
  /** Each sender and each receiver has an equal share. */
  pass?(
    library: Library,
    work: { capacity: number; senders: number; receivers: number; values: number },
    take: Take,
  ): Promise<unknown>;
  /** All are sent before the first is received. */
  burst?(library: Library, values: number, take: Take): Promise<unknown>;
  /** Ends when the sender closes. */
  iterate?(library: Library, capacity: number, values: number, take: Take): Promise<unknown>;
}

/** One sender, and receivers of which each has every value. */
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

/** The latest value alone, and receivers that wait until it is another. */
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
  /** Only a floor, which excludes nobody, has it. */
  readonly excludesNobody?: true;
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
  /** Only a floor, which limits nothing, has it. */
  readonly limitsNothing?: true;
  readonly rules: readonly Rule[];
  /** True where each start has to wait whatever the rate is: its cost cannot be told from the waiting. */
  readonly alwaysWaits?: true;
  /** Only so many functions where each takes long. */
  readonly most?: number;
  /** Concurrency is Infinity and rate absent where the rule has none. */
  create(library: Library, rule: { concurrency: number; rate: Rate | undefined }): Limiter;
  run(limiter: Limiter, work: Work): Promise<unknown>;
}

/** At most so many at once for each key. */
export interface KeyedForm<Library = unknown, Limiter = unknown> {
  readonly limitsNothing?: true;
  /** Only so many keys where each takes long. */
  readonly most?: number;
  create(library: Library, concurrency: number): Limiter;
  run(limiter: Limiter, key: string, work: Work): Promise<unknown>;
}

export type Mapper = (input: number) => Promise<number>;

/** All inputs through an async function, so many at once, the results in order. */
export interface MapForm<Library = unknown> {
  readonly limitsNothing?: true;
  map(
    library: Library,
    inputs: readonly number[],
    mapper: Mapper,
    concurrency: number,
  ): Promise<readonly number[]>;
}

/** Waiting for the first of several channels. */
export interface SelectForm<Library = unknown, Sources = unknown, Received = unknown> {
  create(library: Library, sources: number): Sources;
  /** Puts a value into one of them; where nobody waits for it, it is kept. */
  feed(sources: Sources, index: number, value: number, library: Library): unknown;
  first(sources: Sources, library: Library): Promise<Received>;
  value?(received: Received): number;
  /** How many waiters are left behind; absent where the library does not tell. */
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
  /** Imports the library, and nothing else: a cell's process holds only its own subject. */
  load(): Promise<Library>;
  /** Why it is not here, where it is not; the report then says so in place of figures. */
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
