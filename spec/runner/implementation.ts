/**
 * The adapter through which the runner plays scenarios on an implementation. It has the shape of the TypeScript API, so
 * most methods only forward. The adapter provides the clock and the meaning of "settled".
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
 * One primitive under test. Operations that it lacks may be missing. An operation that waits or tries receives its options
 * and what the actor holds; any other operation receives its options as separate arguments.
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
  /** Resolves with `leader` for the leader of a barrier. */
  wait?(request: WaitRequest, held: Guard | undefined): PromiseLike<unknown>;
  countDown?(count?: number): unknown;
  send?(request: SendRequest): unknown;
  trySend?(request: SendRequest): Later<unknown>;
  receive?(request: ReceiveRequest, held: Guard | undefined): PromiseLike<unknown>;
  receiveMany?(request: ReceiveRequest): PromiseLike<unknown>;
  /** Returns undefined if there is no value. */
  tryReceive?(request: object, held: Guard | undefined): Later<unknown>;
  changed?(request: WaitRequest, held: Guard): PromiseLike<unknown>;
  subscribe?(): Later<Guard>;
  discard?(reason?: unknown): unknown;
  /** The counters of one key, or of the whole primitive. Counters that the implementation lacks are omitted. */
  observe(key?: string): Counters | PromiseLike<Counters>;
}

/** The counters of an implementation. The runner compares the first ones with its actors. */
export interface Counters {
  readonly waiting?: number;
  readonly reading?: number;
  readonly writing?: number;
  readonly subscribed?: number;
  /** The signals of the waiters, in order, for an implementation whose queue is visible. */
  readonly queue?: readonly AbortSignal[];
  readonly available?: number;
  readonly limit?: number;
  readonly closed?: boolean;
  readonly owner?: unknown;
  /** The keys that have an entry. */
  readonly keys?: Iterable<string>;
  /** The number of buffered values. */
  readonly length?: number;
  /** The remaining count of a latch. */
  readonly count?: number;
  readonly value?: unknown;
}

export interface Implementation {
  readonly name: string;
  readonly capabilities: ReadonlySet<Capability>;
  /** Whether operations that the scenario never aborts get no signal, so that the paths without options run too. */
  readonly sparing?: boolean;
  /** Whether grants made in one step have no order, so that holders are compared as a set. */
  readonly unordered?: boolean;
  /** Throws or rejects when the setup is invalid. */
  create(primitive: Primitive, setup: Setup): Subject | PromiseLike<Subject>;
  /** Resolves when nothing more can happen without a further step or the clock. */
  settle(): PromiseLike<void>;
  /** Advances the clock, or sleeps. */
  advance(milliseconds: number): unknown;
  /** The number of armed timers, if it is visible. */
  timers?(): number;
  /** The kind of an error; undefined for an error that the primitive must not throw. */
  kindOf(error: unknown): ErrorKind | Lag | undefined;
}
