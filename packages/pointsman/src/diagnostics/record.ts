/**
 * What is known of each primitive that is watched: who holds it and who waits for it.
 *
 * Invariant: a record is kept by what it is about, by the methods that were put on the primitive and on its permits.
 * The list of all is weak, so that watching keeps nothing alive.
 */

import type { Kind } from './kinds.js';
import type { Stack } from './stack.js';

/** What a call asked for: what a hold and a wait have in common. */
export interface Request {
  readonly watched: Watched;
  readonly operation: string;
  /** Undefined where there are no keys, or where all are meant. */
  readonly keys: readonly unknown[] | undefined;
  readonly permits: number;
  readonly priority: number;
  /** Nobody else may hold any. */
  readonly all: boolean;
  readonly owner: unknown;
  readonly context: Context | undefined;
  readonly stack: Stack;
  /** By `performance.now()`. */
  readonly since: number;
}

export interface Wait extends Request {
  /** Whether it waits for those who hold something, and not for a value or a call. */
  readonly forHolders: boolean;
  /** Whether it stands in the queue of those who take something. */
  readonly grants: boolean;
  readonly isOver: boolean;
}

/** What is granted. A guard of a lock on Redis has no issuer. */
export interface Granted {
  readonly released: boolean;
  readonly _issuer?: unknown;
}

export interface Hold extends Request {
  readonly permit: Granted;
  /** Whose permit it is, as long as it is held: another while its holder waits at a condition. */
  readonly issuer: unknown;
  /** Whose it is, where promises can be followed and as far as that is known. */
  line: Line | undefined;
  /** Promises that have brought it there if it is what they were resolved with. */
  readonly unproven: object[];
  isReported: boolean;
  /** Makes the permit as it was. */
  uncover: () => void;
}

/** What runs as one task, with a name by which reports call it. */
export class Context {
  readonly name: string | undefined;
  /** The context that goes on only when this one has ended. A task has none: nobody knows who waits for it. */
  readonly parent: Context | undefined;
  /** What is waited for in this context, and in those that it waits for. */
  readonly waits = new Set<Wait>();

  constructor(name: string | undefined, parent?: Context) {
    this.name = name;
    this.parent = parent;
  }
}

/** One function's way through its awaits. */
export class Line {
  /** The promises that it waits for, all of them. */
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
  /** How many holds and waits there are, for whoever outlives this. */
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

  /** How many may hold it at once; infinite where they have to agree in another way. */
  get limit(): number {
    return this.kind.limit?.(this.#primitive as never) ?? Number.POSITIVE_INFINITY;
  }

  /** Those whose permit is out. One that was given up for a while, to wait at a condition, is not. */
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

  /** Whether it was still known. */
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
    hold.line?.holds.delete(hold);
    count(this.#count, -1);
    return true;
  }

  /** Forgets it, when it is no longer watched. */
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

/** Calls it whenever there are more or fewer holds and waits in all, or primitives that are watched. */
export const onCount = (listener: (total: number, watched: number) => void): void =>
  void listeners.add(listener);

/** All that is watched, in the order in which it came. */
export function* everyWatched(): Generator<Watched> {
  for (const reference of all) {
    const watched = reference.deref();
    if (watched !== undefined) yield watched;
  }
}
