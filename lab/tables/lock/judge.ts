/**
 * Who watches that one is inside and no more, without asking Redis.
 *
 * Invariant: a turn that begins while another is inside is counted, and so is an update that was
 * lost; a subject with either has failed, however fast it was.
 *
 * Every two of the key sets of this table have a key in common, so all the turns of a cell exclude
 * each other, whatever keys they hold. The state lies in shared memory, where the event loops of
 * several threads find it too.
 */
export class Judge {
  readonly #cells: Int32Array;

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT)) {
    this.#cells = new Int32Array(memory);
  }

  get memory(): SharedArrayBuffer {
    return this.#cells.buffer as SharedArrayBuffer;
  }

  /** One turn: a count is read, something is awaited, and the count is written back. */
  async turn(work: PromiseLike<unknown> | (() => PromiseLike<unknown>) | undefined): Promise<void> {
    const cells = this.#cells;
    if (Atomics.add(cells, inside, 1) !== 0) Atomics.add(cells, intruders, 1);
    const count = Atomics.load(cells, turns);
    await (typeof work === 'function' ? work() : work);
    Atomics.store(cells, turns, count + 1);
    Atomics.sub(cells, inside, 1);
  }

  /** The turns since the judge was made; a lost update is one too few. */
  get turns(): number {
    return Atomics.load(this.#cells, turns);
  }

  check(expected: number): void {
    const found = Atomics.load(this.#cells, intruders);
    if (found > 0) throw new Error(`let somebody in ${found} times while another was inside`);
    if (this.turns !== expected) throw new Error(`counted ${this.turns} turns of ${expected}`);
  }
}

const inside = 0;
const intruders = 1;
const turns = 2;
