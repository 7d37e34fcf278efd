/**
 * The concurrency of a limiter. A slot is the concurrency that one request holds or waits for: one claim in the store for
 * all keys, one for its key. The session renews claims, so the claims of a dead process expire.
 *
 * Invariants:
 * - A waiting request claims the slots of its key before those of all keys. So a full key does not delay other keys, and
 *   no two requests wait for each other.
 * - The start of a request is sent after its last claim, and has no effect unless all of its claims are held.
 */

import { type Weight, weighs } from '../../sync/limiter/rules.js';
import { Acquisition, SharedGuard } from '../acquisition.js';
import { SharedPrimitive } from '../primitive.js';
import type { HeldKey, Share } from '../protocol/protocol.js';
import type { PendingOperation } from '../session/batches.js';
import type { BaseStore } from '../store.js';
import type { StrictQueue } from '../strict.js';
import type { Route } from './decisions.js';
import type { SharedRates } from './limits.js';
import { MIN_PATIENCE } from './stream.js';

type NamedShare = readonly [name: string, share: Share];

/** The claim for one name. */
class SlotClaim {
  readonly #queue: StrictQueue;
  readonly #acquisition: Acquisition;
  readonly #name: string;
  #id = '';
  /** Undefined until it is decided. */
  state: 'held' | 'missed' | 'failed' | undefined;
  error: unknown;
  #guard: SharedGuard | undefined;

  constructor(slots: Slots, [name, share]: NamedShare, wait: boolean, decided: () => void) {
    const end = (state: 'held' | 'missed' | 'failed'): void => {
      this.state = state;
      decided();
    };
    this.#name = name;
    this.#queue = slots._open();
    const terms = { share, wait };
    this.#acquisition = new Acquisition(this.#queue, slots._metrics, [name], terms, (result) => {
      if (result === undefined) return end('missed');
      if (result instanceof SharedGuard) {
        this.#guard = result;
        return end('held');
      }
      result.then(undefined, (error) => {
        this.error = error;
        end('failed');
      });
    });
    this.#queue.enter(this.#acquisition);
  }

  get held(): HeldKey {
    // It has a new one after a session was lost, and none when it is over.
    this.#id = this.#queue.idOf(this.#acquisition) ?? this.#id;
    return { id: this.#id, key: this.#name };
  }

  /** Certainly held: a process that was suspended or disconnected may have lost a claim. */
  get isHeld(): boolean {
    return this.#guard?.valid === true;
  }

  leave(): void {
    if (this.#guard === undefined) this.#acquisition.giveUp(undefined);
    else void this.#guard.release();
  }
}

/** What one request holds, or waits for. `changed` is called when a claim is decided, until it leaves. */
export class Slot {
  readonly #slots: Slots;
  readonly #wait: boolean;
  readonly #changed: () => void;
  readonly #claims: SlotClaim[] = [];
  /** The claims that it has not requested, in their order. */
  readonly #next: NamedShare[];
  #isOver = false;
  /** Whether a claim was requested since {@link held} was last read. */
  isFresh = true;

  constructor(slots: Slots, shares: readonly NamedShare[], wait: boolean, changed: () => void) {
    this.#slots = slots;
    this.#wait = wait;
    this.#changed = changed;
    this.#next = [...shares];
    do this.#request();
    while (!wait && this.#next.length > 0);
  }

  #request(): void {
    const claim = new SlotClaim(this.#slots, this.#next.shift() as NamedShare, this.#wait, () => {
      if (this.#isOver) return;
      if (claim.state === 'held' && this.#next.length > 0) this.#request();
      this.#changed();
    });
    this.#claims.push(claim);
    this.isFresh = true;
  }

  /** What has to be held for the start. A key that is not requested yet is not held. */
  get held(): readonly HeldKey[] {
    this.isFresh = false;
    const held = this.#claims.map((claim) => claim.held);
    const { id } = held[0] as HeldKey;
    return [...held, ...this.#next.map(([key]) => ({ id, key }))];
  }

  get isHeld(): boolean {
    return this.#next.length === 0 && this.#claims.every(({ isHeld }) => isHeld);
  }

  get isDecided(): boolean {
    return this.#next.length === 0 && this.#claims.every(({ state }) => state !== undefined);
  }

  /** Why the slots cannot be held: they were not free, the store failed, or a claim is lost. */
  get failure():
    | { readonly error?: unknown; readonly state: 'missed' | 'failed' | 'lost' }
    | undefined {
    for (const { state, error, isHeld } of this.#claims) {
      if (state === 'held' && !isHeld) return { state: 'lost' };
      if (state === 'missed' || state === 'failed') return { state, error };
    }
    return undefined;
  }

  /** Releases all slots. */
  leave(): void {
    this.#isOver = true;
    for (const claim of this.#claims) claim.leave();
  }
}

export class Slots extends SharedPrimitive implements Route {
  readonly #rates: SharedRates;

  constructor(store: BaseStore, label: string, rates: SharedRates) {
    super(store, 'limiter', undefined, label);
    this.#rates = rates;
  }

  /** Requests the slots of a request; undefined if it needs none. */
  enter(
    key: string | undefined,
    weight: Weight,
    wait: boolean,
    changed: () => void,
  ): Slot | undefined {
    const shares = this.#sharesOf(key, weight);
    return shares.length === 0 ? undefined : new Slot(this, shares, wait, changed);
  }

  /**
   * Sends operations by `send` that the store applies while it has slots for the request, if they are free; nothing is
   * held afterwards.
   */
  probe(
    key: string | undefined,
    weight: Weight,
    send: (held?: () => readonly HeldKey[], route?: Route) => void,
  ): void {
    const shares = this.#sharesOf(key, weight);
    if (shares.length === 0) {
      send();
      return;
    }
    const { session } = this._open();
    const id = session.claims.newId();
    const ignore = (): void => {};
    for (const [name, share] of shares) {
      session.send({
        operation: () => ({
          name: 'lock',
          id,
          tokens: 1,
          wait: false,
          keys: [name],
          optional: [],
          share,
        }),
        done: ignore,
        failed: ignore,
        lost: ignore,
      });
    }
    const keys = shares.map(([key]) => key);
    const held = keys.map((key) => ({ id, key }));
    send(() => held, this);
    void session.claims.unlock(id, keys);
  }

  #sharesOf(key: string | undefined, weight: Weight): readonly NamedShare[] {
    const taken = weighs(weight, 'concurrency');
    return this.#rates
      .slotsOf(key)
      .filter(([, limit]) => taken > 0 && limit < Infinity)
      .map(([name, limit]) => [name, { weight: taken, limit }]);
  }

  // --- a route to the store ---

  send(operation: PendingOperation): void {
    this._open().session.send(operation);
  }

  get run(): unknown {
    return this._isClosing ? undefined : this._open().session.run;
  }

  get trouble(): unknown {
    return this._open().session.trouble;
  }

  checkSilence(patience: number): void {
    this._open().session.checkSilence(Math.max(patience, MIN_PATIENCE));
  }
}
