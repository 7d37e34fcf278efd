/**
 * Words that a test and the threads of its pool share, on a way of their own: what they say does not
 * travel through the pool, so a pool that is broken cannot hide it.
 */

/** The first words are a log: how many values it has, and the values. */
const LOG = 2048;

export class Board {
  readonly words: Int32Array<SharedArrayBuffer>;
  #free = LOG;

  constructor(words = new Int32Array(new SharedArrayBuffer(1 << 16))) {
    this.words = words;
  }

  /** The first of so many words that nobody else uses. */
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

  /** What was written, in this order. */
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

/** Tasks wait at a gate until the test opens it. In a task it is known by its number. */
export class Gate {
  readonly number: number;
  readonly #board: Board;

  constructor(board: Board, number = board.take(3)) {
    this.#board = board;
    this.number = number;
  }

  /** Tasks that have come to it. */
  get begun(): number {
    return this.#board.at(this.number + BEGUN);
  }

  /** Tasks that have gone through it. */
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

  /** In a thread: comes to the gate. */
  enter(): void {
    this.#board.add(this.number + BEGUN);
  }

  /** In a thread: waits without a return to the event loop. */
  wait(): void {
    while (!this.isOpen) Atomics.wait(this.#board.words, this.number + OPEN, 0);
  }

  /** In a thread: goes through the gate. */
  leave(): void {
    this.#board.add(this.number + ENDED);
  }
}
