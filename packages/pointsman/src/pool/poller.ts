/**
 * How the host waits for results: for a moment by looking at the mailboxes turn by turn of its event loop,
 * so that nothing else has to wait, then asleep until a message wakes it.
 */

import { soon } from '../transport/event-loop.js';
import { WaitPolicy } from '../transport/wait-policy.js';

export class Poller {
  readonly #policy = new WaitPolicy();
  readonly #poll: () => boolean;
  readonly #isDue: () => boolean;
  #isPolling = false;
  #found = false;
  #until = 0;

  /** `poll` receives what has come, and says whether there was anything; `isDue`: a result may come soon. */
  constructor(poll: () => boolean, isDue: () => boolean) {
    this.#poll = poll;
    this.#isDue = isDue;
  }

  /** A task was handed over. */
  expect(): void {
    if (this.#isPolling || this.#policy.bound === 0 || !this.#isDue()) return;
    this.#isPolling = true;
    this.#until = 0;
    soon(this.#turn);
  }

  /** A message has woken this thread so many milliseconds after it was posted. */
  woke(cost: number): void {
    // Between two looks the event loop may be faster.
    if (this.#isPolling) this.#found = true;
    else this.#policy.woke(cost);
  }

  readonly #turn = (): void => {
    const found = this.#poll() || this.#found;
    this.#found = false;
    const now = performance.now();
    if (found) this.#policy.hit();
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
