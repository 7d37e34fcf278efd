/**
 * Checks that at most one turn runs at a time, without asking Redis.
 *
 * Invariant: every turn that begins during another is counted, and so is a lost update. A subject with either has
 * failed, however fast it was.
 *
 * Any two key sets of this table share a key, so all turns of a cell exclude each other, for any keys they hold.
 */
export class Judge {
  #inside = 0;
  #intruders = 0;
  #turns = 0;

  /** One turn: reads a count, awaits, and writes the count back. */
  async turn(work: PromiseLike<unknown> | (() => PromiseLike<unknown>) | undefined): Promise<void> {
    if (this.#inside++ !== 0) this.#intruders++;
    const count = this.#turns;
    await (typeof work === 'function' ? work() : work);
    this.#turns = count + 1;
    this.#inside--;
  }

  /** The number of turns since the judge was made; a lost update makes it one too low. */
  get turns(): number {
    return this.#turns;
  }

  check(expected: number): void {
    reject(this.#intruders, this.turns, expected);
  }
}

/** Throws if a turn began during another, or an update was lost. */
export function reject(intruders: number, turns: number, expected: number): void {
  if (intruders > 0) throw new Error(`granted ${intruders} turns while another turn was running`);
  if (turns !== expected) throw new Error(`counted ${turns} turns of ${expected}`);
}
