/**
 * How the host waits for results: asleep until it is woken, or looking for them turn by turn of its event
 * loop, which nothing else has to wait for.
 *
 * A wake-up costs whoever gives it and whoever gets it up to a tenth of a millisecond where idle cores
 * sleep, so for short tasks it pays to look for a moment; for long ones, or on a busy machine, it does not.
 * That is measured, as for calls between threads, and the threads look for their next task for as long as
 * measuring says.
 *
 * Invariant: as long as tasks are under way, either it looks or all sides will be woken.
 */

import { soon } from '../bridge/event-loop.js';
import type { Side } from '../bridge/side.js';
import { WaitPolicy } from '../memory/wait-policy.js';

export class Lookout {
  readonly #sides = new Set<Side>();
  readonly #policy: WaitPolicy;
  readonly #isBusy: () => boolean;
  #looking = false;
  #until = 0;

  /** `isBusy` says whether results are due. */
  constructor(isBusy: () => boolean) {
    this.#isBusy = isBusy;
    this.#policy = new WaitPolicy(true, ({ linger }) => {
      for (const side of this.#sides) side.linger(linger);
    });
  }

  add(side: Side): void {
    this.#sides.add(side);
    side.linger(this.#policy.current.linger);
    side.watched = this.#looking;
  }

  delete(side: Side): void {
    this.#sides.delete(side);
  }

  /** A task was handed over. */
  expect(): void {
    this.#policy.begin();
    if (this.#looking || this.#policy.current.spin === 0) return;
    this.#looking = true;
    for (const side of this.#sides) side.watched = true;
    this.#until = 0;
    soon(this.#look);
  }

  readonly #look = (): void => {
    let found = false;
    for (const side of this.#sides) if (side.pumpIfReady()) found = true;
    const { spin } = this.#policy.current;
    const now = performance.now();
    if (found || this.#until === 0) this.#until = now + spin / 1_000;
    const isBusy = this.#isBusy();
    if (isBusy && now < this.#until) {
      soon(this.#look);
      return;
    }
    this.#looking = false;
    if (isBusy) this.#policy.slept();
    for (const side of this.#sides) {
      side.watched = false;
      side.attend();
    }
  };
}
