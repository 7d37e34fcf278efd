/**
 * Words of shared memory for a test and the threads of its pool. They do not travel through the pool, so a faulty pool
 * cannot hide them.
 */

/** The first words are a log: the number of its values, and the values. */
const LOG = 2048;

export class Board {
  readonly words: Int32Array<SharedArrayBuffer>;
  #free = LOG;

  constructor(words = new Int32Array(new SharedArrayBuffer(1 << 16))) {
    this.words = words;
  }

  /** Reserves `count` words. Returns the index of the first. */
  take(count = 1): number {
    const first = this.#free;
    this.#free += count;
    return first;
  }

  at(word: number): number {
    return Atomics.load(this.words, word);
  }

  add(word: number): void {
    Atomics.add(this.words, word, 1);
  }

  write(value: number): void {
    const at = Atomics.add(this.words, 0, 1);
    Atomics.store(this.words, 1 + at, value);
  }

  /** The log, in the order of writing. */
  get log(): number[] {
    return [...this.words.subarray(1, 1 + this.at(0))];
  }

  gate(): Gate {
    return new Gate(this);
  }
}

const BEGUN = 0;
const OPEN = 1;
const ENDED = 2;

/** A gate at which tasks wait until the test opens it. Tasks know it by its number. */
export class Gate {
  readonly number: number;
  readonly #board: Board;

  constructor(board: Board, number = board.take(3)) {
    this.#board = board;
    this.number = number;
  }

  /** The number of tasks that have reached it. */
  get begun(): number {
    return this.#board.at(this.number + BEGUN);
  }

  /** The number of tasks that have passed it. */
  get ended(): number {
    return this.#board.at(this.number + ENDED);
  }

  get isOpen(): boolean {
    return this.#board.at(this.number + OPEN) === 1;
  }

  open(): void {
    const { words } = this.#board;
    Atomics.store(words, this.number + OPEN, 1);
    Atomics.notify(words, this.number + OPEN);
  }

  /** In a thread: reports that the task has reached the gate. */
  enter(): void {
    this.#board.add(this.number + BEGUN);
  }

  /** In a thread: waits without returning to the event loop. */
  wait(): void {
    while (!this.isOpen) Atomics.wait(this.#board.words, this.number + OPEN, 0);
  }

  /** In a thread: reports that the task has passed the gate. */
  leave(): void {
    this.#board.add(this.number + ENDED);
  }
}
