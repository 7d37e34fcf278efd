/**
 * How an idle worker of a pool waits for its next tasks: for a moment by looking at its mailbox, then in
 * its event loop, which a message wakes.
 *
 * Invariant: it returns to the event loop at least every {@link TURN}, so what tasks have left there gets
 * its turn.
 */

import { type Port, platform } from '../transport/platform.js';
import { WaitPolicy } from '../transport/wait-policy.js';
import type { Mailbox } from './mailbox.js';

/** Milliseconds. */
const TURN = 4;
/** So many looks at the mailbox before a look at the clock, a power of two. */
const LOOKS = 32;

const pause: (() => void) | undefined = (Atomics as { pause?: () => void }).pause;

export class Spinner {
  readonly #policy = new WaitPolicy();
  readonly #mailbox: Mailbox;
  readonly #port: Port;
  readonly #isIdle: () => boolean;

  constructor(mailbox: Mailbox, port: Port, isIdle: () => boolean) {
    this.#mailbox = mailbox;
    this.#port = port;
    this.#isIdle = isIdle;
  }

  /** The event loop has received a message. */
  woke(): void {
    this.#policy.woke(this.#mailbox.age);
  }

  /** Receives what comes while it spins. */
  spin(receive: (message: unknown[]) => void): void {
    const end = performance.now() + TURN;
    while (this.#isIdle() && this.#await()) {
      const received = platform.receive?.(this.#port);
      if (received === undefined) return;
      this.#mailbox.received();
      receive(received.message as unknown[]);
      if (performance.now() > end) return;
    }
  }

  /** Whether something has come within the bound. */
  #await(): boolean {
    const mailbox = this.#mailbox;
    if (mailbox.hasNews) return true;
    const { bound } = this.#policy;
    if (bound === 0) return false;
    const until = performance.now() + bound;
    for (let looks = 1; ; looks++) {
      if (mailbox.hasNews) {
        this.#policy.hit();
        return true;
      }
      pause?.();
      if ((looks & (LOOKS - 1)) === 0 && performance.now() >= until) break;
    }
    this.#policy.missed();
    return false;
  }
}
