/**
 * What an implementation must offer so that the runner can play scenarios on it: an adapter.
 * It is shaped like the TypeScript API, so that an adapter mostly hands on. The clock and the
 * notion of "settled" belong to the adapter, because only it knows how its world moves.
 */
import type { Capability, ErrorKind, Lag, Primitive, Setup, Value } from './scenario.js';

export interface WaitRequest {
  readonly signal?: AbortSignal | undefined;
  readonly timeout?: number;
}

export interface TryRequest {
  readonly key?: string;
  readonly keys?: readonly string[];
  readonly permits?: number;
  readonly priority?: number;
  readonly owner?: string;
}

export interface AcquireRequest extends WaitRequest, TryRequest {}

export interface SendRequest extends WaitRequest {
  readonly value: Value;
}

export interface ReceiveRequest extends WaitRequest {
  readonly max?: number;
}

export interface Guard {
  release(): unknown;
}

type Later<T> = T | PromiseLike<T>;

/**
 * One primitive under test. An operation that it has not may be missing. One that waits or tries
 * is given its options and what the actor holds; one that only acts, its options one by one.
 */
export interface Subject {
  acquire?(request: AcquireRequest): PromiseLike<Guard>;
  tryAcquire?(request: TryRequest): Later<Guard | undefined>;
  read?(request: AcquireRequest): PromiseLike<Guard>;
  write?(request: AcquireRequest): PromiseLike<Guard>;
  tryRead?(request: TryRequest): Later<Guard | undefined>;
  tryWrite?(request: TryRequest): Later<Guard | undefined>;
  downgrade?(request: object, held: Guard): Later<Guard>;
  drain?(request: WaitRequest): PromiseLike<unknown>;
  close?(reason?: unknown): unknown;
  setLimit?(limit: number): unknown;
  notified?(request: WaitRequest): PromiseLike<unknown>;
  notifyOne?(): unknown;
  notifyWaiters?(): unknown;
  /** The leader of a barrier is told so: `leader`. */
  wait?(request: WaitRequest, held: Guard | undefined): PromiseLike<unknown>;
  countDown?(count?: number): unknown;
  send?(request: SendRequest): unknown;
  trySend?(request: SendRequest): Later<unknown>;
  receive?(request: ReceiveRequest, held: Guard | undefined): PromiseLike<unknown>;
  receiveMany?(request: ReceiveRequest): PromiseLike<unknown>;
  /** Undefined when there is nothing. */
  tryReceive?(request: object, held: Guard | undefined): Later<unknown>;
  changed?(request: WaitRequest, held: Guard): PromiseLike<unknown>;
  subscribe?(): Later<Guard>;
  discard?(reason?: unknown): unknown;
  /** The counters of one key, or of the whole. One that the implementation lacks is left out. */
  observe(key?: string): Counters | PromiseLike<Counters>;
}

/** What an implementation says of itself. The first few the runner compares with its actors. */
export interface Counters {
  readonly waiting?: number;
  readonly reading?: number;
  readonly writing?: number;
  readonly subscribed?: number;
  /** Who waits, in order, for an implementation that can look into its queue: their signals. */
  readonly queue?: readonly AbortSignal[];
  readonly available?: number;
  readonly limit?: number;
  readonly closed?: boolean;
  readonly owner?: unknown;
  /** The keys that have an entry. */
  readonly keys?: Iterable<string>;
  /** How many values are kept. */
  readonly length?: number;
  /** How many are still to be counted down. */
  readonly count?: number;
  readonly value?: unknown;
}

export interface Implementation {
  readonly name: string;
  readonly capabilities: ReadonlySet<Capability>;
  /**
   * Whether an operation that the scenario never aborts goes without a signal, so that the paths of
   * those who pass no options are played too.
   */
  readonly sparing?: boolean;
  /** Throws or rejects when the setup is invalid. */
  create(primitive: Primitive, setup: Setup): Subject | PromiseLike<Subject>;
  /** Comes back when nothing more can happen without a further step or the clock. */
  settle(): PromiseLike<void>;
  /** Moves the clock, or waits for real. */
  advance(milliseconds: number): unknown;
  /** How many timers are armed, where that can be seen. */
  timers?(): number;
  /** What kind of error this is; undefined when it is none that the primitive should throw. */
  kindOf(error: unknown): ErrorKind | Lag | undefined;
}
