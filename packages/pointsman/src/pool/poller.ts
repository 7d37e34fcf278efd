/**
 * How the host waits for results: it polls the mailboxes for a short time, once per turn of its event loop, and then
 * sleeps until a message wakes it.
 *
 * Invariant: each poll is a turn of its own, so polling never delays timers or I/O.
 */

import { soon } from '../transport/event-loop.js';
import { WaitPolicy } from '../transport/wait-policy.js';

export class Poller {
  readonly #policy = new WaitPolicy();
  readonly #poll: () => boolean;
  readonly #isDue: () => boolean;
  #isPolling = false;
  #found = false;
  /** When polling ends; 0 before the first poll. */
  #until = 0;

  /** `poll` receives messages and returns whether there were any; `isDue` returns whether a result is expected soon. */
  constructor(poll: () => boolean, isDue: () => boolean) {
    this.#poll = poll;
    this.#isDue = isDue;
  }

  /** Called when a task was submitted. */
  expect(): void {
    if (this.#isPolling || this.#policy.bound === 0 || !this.#isDue()) return;
    this.#isPolling = true;
    this.#until = 0;
    soon(this.#turn);
  }

  /** Called when the event loop delivered a message, `cost` milliseconds after it was posted. */
  woke(cost: number): void {
    // The event loop may deliver a message between two polls.
    if (this.#isPolling) this.#found = true;
    else this.#policy.woke(cost);
  }

  readonly #turn = (): void => {
    const found = this.#poll() || this.#found;
    this.#found = false;
    const now = performance.now();
    if (found && this.#until !== 0) this.#policy.hit();
    if (found || this.#until === 0) this.#until = now + this.#policy.bound;
    if (this.#isDue()) {
      if (now < this.#until) {
        soon(this.#turn);
        return;
      }
      this.#policy.missed();
    }
    this.#isPolling = false;
  };
}
