/** One request of a shared limiter, until it starts or is given up. */

import type { Weight } from '../../sync/limiter/rules.js';
import type { Grant, Question } from './decisions.js';
import type { Gate, Lane } from './lanes.js';
import type { SharedPermit } from './permit.js';
import type { Slot } from './slots.js';

export interface SharedRequest {
  readonly key: string | undefined;
  readonly weight: Weight;
  /** When its timeout ends, by `performance.now()`. */
  readonly expires: number;
  /** When it was made, by `performance.now()`. */
  readonly since: number;
  readonly order: number;
  readonly lane: Lane;
  /** Rejects with a rejected promise. */
  readonly resolve: (permit: SharedPermit | PromiseLike<never>) => void;
  /**
   * `queued` in its lane; `asked` while the store decides; `slotted` while it waits for concurrency in the store's queue;
   * `timed` until its start time; `local` while this process decides, because the store does not.
   */
  state: 'queued' | 'asked' | 'slotted' | 'timed' | 'local' | 'over';
  question: Question | undefined;
  /** The gate that counts it while it is asked. */
  gate: Gate | undefined;
  /** Its concurrency, from the first question on. */
  slot: Slot | undefined;
  /** What the store has granted. */
  grant: Grant | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** Stops watching the signal and the timeout. */
  stop: (() => void) | undefined;
}
