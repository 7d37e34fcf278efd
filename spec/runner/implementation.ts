/**
 * What an implementation must offer so that the runner can play scenarios on it: an adapter.
 * It is shaped like the TypeScript API, so that an adapter mostly hands on. The clock and the
 * notion of "settled" belong to the adapter, because only it knows how its world moves.
 */
import type { Capability, ErrorKind, Primitive, Setup } from './scenario.js';

export interface WaitRequest {
  readonly signal?: AbortSignal | undefined;
  readonly timeout?: number;
}

export interface TryRequest {
  readonly key?: string;
  readonly permits?: number;
  readonly priority?: number;
  readonly owner?: string;
}

export interface AcquireRequest extends WaitRequest, TryRequest {}

export interface Guard {
  release(): unknown;
}

/** One primitive under test. An operation that it has no capability for may be missing. */
export interface Subject {
  acquire(request: AcquireRequest): PromiseLike<Guard>;
  tryAcquire?(request: TryRequest): Guard | undefined | PromiseLike<Guard | undefined>;
  drain?(request: WaitRequest): PromiseLike<unknown>;
  close?(reason?: unknown): unknown;
  setLimit?(limit: number): unknown;
  /** The counters of one key, or of the whole. One that the implementation lacks is left out. */
  observe(key?: string): Counters | PromiseLike<Counters>;
}

export interface Counters {
  readonly available?: number;
  /** How many wait, which the runner compares with the actors that do. */
  readonly waiting?: number;
  /** Who waits, in order, for an implementation that can look into its queue: their signals. */
  readonly queue?: readonly AbortSignal[];
  readonly limit?: number;
  readonly closed?: boolean;
  readonly owner?: unknown;
  /** The keys that have an entry. */
  readonly keys?: Iterable<string>;
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
  kindOf(error: unknown): ErrorKind | undefined;
}
