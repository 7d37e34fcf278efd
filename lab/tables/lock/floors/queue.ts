/**
 * A queue of this process alone: hands a turn on in the order of asking. It is what the floors of
 * this table are made of; no server knows of it.
 */
export class Queue {
  #isHeld = false;
  readonly #waiting: (() => void)[] = [];
  #next = 0;

  /** Whether somebody had to be waited for. */
  async enter(): Promise<boolean> {
    const mustWait = this.#isHeld;
    if (mustWait) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#isHeld = true;
    return mustWait;
  }

  leave(): void {
    const first = this.#waiting[this.#next++];
    if (first !== undefined) {
      first();
      return;
    }
    this.#isHeld = false;
    this.#waiting.length = 0;
    this.#next = 0;
  }
}
