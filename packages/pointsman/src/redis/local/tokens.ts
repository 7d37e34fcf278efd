/**
 * The fencing tokens that this process has in reserve, so that a hand-over need not ask for one.
 *
 * Invariant: tokens are given out in rising order, each once, and never below that of a later grant.
 */

import type { Session } from '../session/session.js';

/** Tokens that come with each claim, and how many are fetched when these run out. */
export const TOKENS = 64;
const MORE_TOKENS = 4096;

export class Tokens {
  readonly #session: Session;
  readonly #arrived: () => void;
  readonly #failed: () => void;
  #next = 0;
  #last = -1;
  #reserving = false;

  /** `arrived` is called when there are more, `failed` when the server has refused them. */
  constructor(session: Session, arrived: () => void, failed: () => void) {
    this.#session = session;
    this.#arrived = arrived;
    this.#failed = failed;
  }

  /** Takes in tokens that the server has reserved, unless it has given later ones already. */
  add(first: number, count: number): void {
    if (first <= this.#next) return;
    this.#next = first;
    this.#last = first + count - 1;
  }

  /** The next one, if there is one. Asks for more before they run out. */
  take(): number | undefined {
    if (this.#last - this.#next < TOKENS / 2) this.#reserve();
    return this.#next > this.#last ? undefined : this.#next++;
  }

  #reserve(): void {
    if (this.#reserving) return;
    this.#reserving = true;
    this.#session.number({ name: 'reserve', tokens: MORE_TOKENS }).then(
      (token) => {
        this.#reserving = false;
        this.add(token, MORE_TOKENS);
        this.#arrived();
      },
      () => {
        this.#reserving = false;
        this.#failed();
      },
    );
  }
}
