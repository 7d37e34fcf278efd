/**
 * What a host and one of its workers say of each task without a message: a word in shared memory, which
 * the worker claims before it runs the task.
 *
 * Invariant: of a task that was handed over, either the worker claims it or the host takes it back, never
 * both: whoever exchanges the word first. A task that is not claimed has had no effect. So the host may
 * cancel it, give it to another worker, or end the worker without touching it.
 *
 * Tasks of a worker are numbered, and the number names the slot. A slot is used again when its task has
 * ended or was taken back. The worker may come to a task that was taken back only after that, so the word
 * says also how often its slot was used: what belongs to a later task is not claimed by an earlier one.
 */

const SLOT_BITS = 9;
/** The most tasks that a worker can have. */
export const SLOTS = 1 << SLOT_BITS;
export const SLOT_MASK = SLOTS - 1;

/** What a word says of a task, beside which of its slot's tasks that is. */
const STATE_BITS = 3;
const WAITING = 0;
const RUNNING = 1;
const TAKEN_BACK = 2;
const ABORTED = 3;
const TIMED_OUT = 4;

/** Why a running task shall stop. */
export type Stop = 'aborted' | 'timed out';

/** The word of a task in this state. */
function wordOf(number: number, state: number): number {
  return ((number >>> SLOT_BITS) << STATE_BITS) | state;
}

export class Claims {
  static readonly BYTES = 4 * SLOTS;
  readonly #words: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory, 0, SLOTS);
  }

  /** The host offers the task of this number. */
  offer(number: number): void {
    this.#words[number & SLOT_MASK] = wordOf(number, WAITING);
  }

  /** The host takes a task back; whether the worker has not claimed it. */
  takeBack(number: number): boolean {
    return this.#exchange(number, WAITING, TAKEN_BACK);
  }

  /** The host tells the task, which runs, that it shall stop. */
  stop(number: number, stop: Stop): void {
    this.#exchange(number, RUNNING, stop === 'timed out' ? TIMED_OUT : ABORTED);
  }

  /** The worker claims the task; whether the host has not taken it back. */
  claim(number: number): boolean {
    return this.#exchange(number, WAITING, RUNNING);
  }

  /** Why the task, which runs, shall stop; undefined if it may go on. */
  stopOf(number: number): Stop | undefined {
    const word = Atomics.load(this.#words, number & SLOT_MASK);
    if (word === wordOf(number, ABORTED)) return 'aborted';
    return word === wordOf(number, TIMED_OUT) ? 'timed out' : undefined;
  }

  #exchange(number: number, from: number, to: number): boolean {
    const expected = wordOf(number, from);
    const slot = number & SLOT_MASK;
    return Atomics.compareExchange(this.#words, slot, expected, wordOf(number, to)) === expected;
  }
}
