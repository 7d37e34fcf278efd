/** A queue within this process, in order of arrival. The floors of this table use it; no server is involved. */
export class Queue {
  #isHeld = false;
  readonly #waiting: (() => void)[] = [];
  #next = 0;

  /** Enters the queue. Returns whether it had to wait. */
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
