/**
 * Who watches that one is inside and no more, without asking Redis.
 *
 * Invariant: a turn that begins while another is inside is counted, and so is an update that was
 * lost; a subject with either has failed, however fast it was.
 *
 * Every two of the key sets of this table have a key in common, so all the turns of a cell exclude
 * each other, whatever keys they hold.
 */
export class Judge {
  #inside = 0;
  #intruders = 0;
  #turns = 0;

  /** One turn: a count is read, something is awaited, and the count is written back. */
  async turn(work: PromiseLike<unknown> | (() => PromiseLike<unknown>) | undefined): Promise<void> {
    if (this.#inside++ !== 0) this.#intruders++;
    const count = this.#turns;
    await (typeof work === 'function' ? work() : work);
    this.#turns = count + 1;
    this.#inside--;
  }

  /** The turns since the judge was made; a lost update is one too few. */
  get turns(): number {
    return this.#turns;
  }

  check(expected: number): void {
    reject(this.#intruders, this.turns, expected);
  }
}

/** Throws unless nobody came in while another was inside, and no update was lost. */
export function reject(intruders: number, turns: number, expected: number): void {
  if (intruders > 0) throw new Error(`let somebody in ${intruders} times while another was inside`);
  if (turns !== expected) throw new Error(`counted ${turns} turns of ${expected}`);
}
