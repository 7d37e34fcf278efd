/**
 * The record of each watched primitive: its holders and its waiters.
 *
 * Invariant: only the primitive and its permits keep a record alive, through the methods that watch them. The list of all
 * records is weak, so watching keeps nothing alive.
 */

import type { Kind } from './kinds.js';
import type { Stack } from './stack.js';

/** The common part of a hold and a wait: what the call requested. */
export interface Request {
  readonly watched: Watched;
  readonly operation: string;
  /** Undefined for a primitive without keys, and for requests that concern all keys. */
  readonly keys: readonly unknown[] | undefined;
  readonly permits: number;
  readonly priority: number;
  /** Whether the request is exclusive. */
  readonly all: boolean;
  readonly owner: unknown;
  readonly context: Context | undefined;
  readonly stack: Stack;
  /** By `performance.now()`. */
  readonly since: number;
}

export interface Wait extends Request {
  /** Whether it waits for holders, not for a value or a notification. */
  readonly forHolders: boolean;
  /** Whether it waits for a permit. */
  readonly grants: boolean;
  readonly isOver: boolean;
}

/** A permit. A guard of a `SharedMutex` has no issuer. */
export interface Granted {
  readonly released: boolean;
  readonly _issuer?: unknown;
}

export interface Hold extends Request {
  readonly permit: Granted;
  /** The permit's issuer while it is held. It changes while the holder waits at a condition. */
  readonly issuer: unknown;
  /** The flow that holds the permit, if it is known. */
  flow: Flow | undefined;
  /** The promises through which the permit reached that flow, if they were resolved with the permit. */
  readonly unproven: object[];
  isReported: boolean;
  /** Restores the permit's own methods. */
  uncover: () => void;
}

/** The work of one task, with the name that reports show. */
export class Context {
  readonly name: string | undefined;
  /** The context that continues only when this one has ended. A task has none: its caller may not wait for it. */
  readonly parent: Context | undefined;
  /** The waits in this context and its children. */
  readonly waits = new Set<Wait>();

  constructor(name: string | undefined, parent?: Context) {
    this.name = name;
    this.parent = parent;
  }
}

/** One async function with its awaits. */
export class Flow {
  /** The promises that it waits for; it continues when all have settled. */
  awaits: object[] = [];
  readonly holds = new Set<Hold>();
}

export class Watched {
  name: string;
  heldTooLong: number | undefined;
  readonly kind: Kind;
  readonly waits = new Set<Wait>();
  readonly #holds = new Set<Hold>();
  readonly #primitive: object;
  /** The number of holds and waits. A separate object, which outlives this record in `collected`. */
  readonly #count: Count = { of: 0 };

  constructor(primitive: object, kind: Kind, name: string) {
    this.#primitive = primitive;
    this.kind = kind;
    this.name = name;
    const reference = new WeakRef<Watched>(this);
    all.add(reference);
    collected.register(this, { reference, count: this.#count }, this);
    this.#reference = reference;
    count(this.#count, 0);
  }

  readonly #reference: WeakRef<Watched>;

  /** Maximum number of permits; `Infinity` for primitives without such a number. */
  get limit(): number {
    return this.kind.limit?.(this.#primitive as never) ?? Number.POSITIVE_INFINITY;
  }

  /** The holds whose permit is not released. A permit whose holder waits at a condition is not held. */
  get holds(): Hold[] {
    return [...this.#holds].filter(
      ({ permit, issuer }) => !permit.released && permit._issuer === issuer,
    );
  }

  addWait(wait: Wait): void {
    this.waits.add(wait);
    for (let { context } = wait; context !== undefined; context = context.parent) {
      context.waits.add(wait);
    }
    count(this.#count, 1);
  }

  /** Returns false if the wait had ended before. */
  endWait(wait: Wait): boolean {
    if (!this.waits.delete(wait)) return false;
    for (let { context } = wait; context !== undefined; context = context.parent) {
      context.waits.delete(wait);
    }
    count(this.#count, -1);
    return true;
  }

  addHold(hold: Hold): void {
    this.#holds.add(hold);
    count(this.#count, 1);
  }

  endHold(hold: Hold): boolean {
    if (!this.#holds.delete(hold)) return false;
    hold.uncover();
    hold.flow?.holds.delete(hold);
    count(this.#count, -1);
    return true;
  }

  /** Removes all records, when the primitive is no longer watched. */
  end(): void {
    for (const wait of this.waits) this.endWait(wait);
    for (const hold of this.#holds) this.endHold(hold);
    all.delete(this.#reference);
    collected.unregister(this);
    count(this.#count, 0);
  }
}

interface Count {
  of: number;
}

const all = new Set<WeakRef<Watched>>();
const listeners = new Set<(total: number, watched: number) => void>();
let total = 0;

const collected = new FinalizationRegistry<{ reference: WeakRef<Watched>; count: Count }>(
  ({ reference, count: left }) => {
    all.delete(reference);
    count(left, -left.of);
  },
);

function count(of: Count, change: number): void {
  of.of += change;
  total += change;
  for (const listener of listeners) listener(total, all.size);
}

/** Calls `listener` when the number of holds and waits, or of watched primitives, changes. */
export const onCount = (listener: (total: number, watched: number) => void): void =>
  void listeners.add(listener);

/** Iterates over the watched primitives, oldest first. */
export function* everyWatched(): Generator<Watched> {
  for (const reference of all) {
    const watched = reference.deref();
    if (watched !== undefined) yield watched;
  }
}
