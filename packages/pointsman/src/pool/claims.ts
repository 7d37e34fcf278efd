/**
 * The state of each submitted task, in memory that the host shares with one worker. The worker claims a task before it
 * runs it.
 *
 * Invariant: the worker claims a submitted task or the host withdraws it, never both: one compare-and-exchange
 * decides. A task that is not claimed has had no effect, so the host may cancel it, submit it to another worker, or
 * terminate the worker without losing it.
 *
 * A task's number selects its slot. A slot is reused when its task has finished or was withdrawn; the worker may reach
 * a withdrawn task only afterwards. So the word also counts the uses of the slot, and a stale task cannot claim the
 * slot of a later one.
 */

const SLOT_BITS = 9;
/** Maximum number of tasks submitted to a worker. */
export const SLOTS = 1 << SLOT_BITS;
export const SLOT_MASK = SLOTS - 1;

/** The low bits of a word are the state of the task; the others count the uses of the slot. */
const STATE_BITS = 3;
const WAITING = 0;
const RUNNING = 1;
const WITHDRAWN = 2;
const ABORTED = 3;
const TIMED_OUT = 4;

/** Why a running task must stop. */
export type Stop = 'aborted' | 'timed out';

function wordOf(number: number, state: number): number {
  return ((number >>> SLOT_BITS) << STATE_BITS) | state;
}

export class Claims {
  static readonly BYTES = 4 * SLOTS;
  readonly #words: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory, 0, SLOTS);
  }

  /** Called by the host before it submits the task. */
  offer(number: number): void {
    this.#words[number & SLOT_MASK] = wordOf(number, WAITING);
  }

  /** Called by the host. Returns false if the worker has claimed the task. */
  withdraw(number: number): boolean {
    return this.#exchange(number, WAITING, WITHDRAWN);
  }

  /** Called by the host: asks the running task to stop. */
  stop(number: number, stop: Stop): void {
    this.#exchange(number, RUNNING, stop === 'timed out' ? TIMED_OUT : ABORTED);
  }

  /** Called by the worker. Returns false if the host has withdrawn the task. */
  claim(number: number): boolean {
    return this.#exchange(number, WAITING, RUNNING);
  }

  /** Called by the worker: why the running task must stop, or undefined. */
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
