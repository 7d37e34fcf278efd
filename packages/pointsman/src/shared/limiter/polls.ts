/** Questions that do not wait: equal ones of one tick are one question to the store. */

import type { Weight } from '../../sync/limiter/rules.js';
import type { StoreError } from '../errors.js';
import type { HeldKey } from '../protocol/protocol.js';
import type { Decision, Decisions, Route, StartTerms } from './decisions.js';
import type { SharedRates } from './limits.js';
import type { Slot, Slots } from './slots.js';

export interface Verdict {
  readonly decision: Decision | StoreError;
  /** The place among equal questions, of which the first `count` were granted. */
  readonly index: number;
}

/** Equal questions, in the order of the calls. */
type Equal = {
  readonly resolve: (verdict: Verdict) => void;
  readonly reject: (reason: unknown) => void;
}[];

/** The number of equal questions that are asked as one. */
const MAX_EQUAL = 1_000;

export class Polls {
  readonly #rates: SharedRates;
  readonly #decisions: Decisions;
  readonly #slots: Slots;
  readonly #stats: { undecided: number };
  /** The questions that are not sent yet. */
  readonly #unsent = new Map<string, Equal>();
  /** All that have no answer. */
  readonly #pending = new Set<Equal>();

  constructor(
    rates: SharedRates,
    decisions: Decisions,
    slots: Slots,
    stats: { undecided: number },
  ) {
    this.#rates = rates;
    this.#decisions = decisions;
    this.#slots = slots;
    this.#stats = stats;
  }

  /**
   * Asks the store to start a request now, or with `look`, whether it could start. Without a `slot`, only checks that the
   * concurrency is free, and holds none.
   */
  ask(key: string | undefined, weight: Weight, look: boolean, slot?: Slot): Promise<Verdict> {
    return new Promise((resolve, reject) => {
      const isEqual = typeof weight === 'number' && slot === undefined;
      const name = isEqual ? `${look ? 0 : weight} ${key ?? ''}` : undefined;
      const equal = name === undefined ? undefined : this.#unsent.get(name);
      if (equal !== undefined && equal.length < MAX_EQUAL) equal.push({ resolve, reject });
      else this.#ask(key, weight, look, name, [{ resolve, reject }], slot);
    });
  }

  close(reason: unknown): void {
    for (const equal of this.#pending) for (const { reject } of equal) reject(reason);
    this.#pending.clear();
  }

  #ask(
    key: string | undefined,
    weight: Weight,
    look: boolean,
    name: string | undefined,
    equal: Equal,
    slot: Slot | undefined,
  ): void {
    const groups = this.#rates.groupsOf(key, weight);
    const sent = (): void => {
      if (name !== undefined && this.#unsent.get(name) === equal) this.#unsent.delete(name);
    };
    const terms = (held?: readonly HeldKey[]): StartTerms => {
      sent();
      const count = look ? 1 : equal.length;
      return { groups, within: 0, count, time: 0, look, ...(held === undefined ? {} : { held }) };
    };
    const end = (decision: Decision | StoreError): void => {
      sent();
      this.#pending.delete(equal);
      for (const [index, { resolve }] of equal.entries()) resolve({ decision, index });
    };
    this.#pending.add(equal);
    if (name !== undefined) this.#unsent.set(name, equal);
    const asker = {
      decided: end,
      undecided: (error: StoreError): void => {
        this.#stats.undecided += equal.length;
        end(error);
      },
    };
    const ask = (held?: () => readonly HeldKey[], route?: Route): void => {
      this.#decisions.ask(() => terms(held?.()), asker, route);
    };
    if (slot === undefined) this.#slots.probe(key, weight, ask);
    else ask(() => slot.held, this.#slots);
  }
}
