/**
 * What a host and one of its threads say of each task without a message: a word that the thread claims
 * before it runs the task, and times.
 *
 * Invariant: of a task that was handed over, either the thread claims it or the host takes it back, never
 * both: whoever exchanges the word first. A task that is not claimed has had no effect. So the host may
 * cancel it, give it to another thread, or end the thread without touching it.
 *
 * Both sides count the tasks that go through the ring; the count names the slot. A slot is used again
 * when its task has ended or was taken back. The thread may come to a task that was taken back only
 * after that, so the word says also how often its slot was used: what belongs to a later task is not
 * claimed by an earlier one.
 */

const BITS = 9;
export const SLOTS = 1 << BITS;
const MASK = SLOTS - 1;

/** What a word says of a task, beside which of its slot's tasks that is. */
const STATES = 3;
const FREE = 0;
const WAITING = 1;
const RUNNING = 2;
const WITHDRAWN = 3;
const ABORTED = 4;
const TIMED_OUT = 5;

/** Numbers per slot: when the task must have ended, when it has begun, when it has ended. */
const DEADLINE = 0;
const BEGUN = 1;
const ENDED = 2;
const TIMES = 3;

/** Shared, where that can be. */
function newMemory(): SharedArrayBuffer | ArrayBuffer {
  return typeof SharedArrayBuffer === 'function' ? new SharedArrayBuffer(bytes) : unsharedMemory();
}

/** For a thread that its host shares none with. */
export function unsharedMemory(): ArrayBuffer {
  return new ArrayBuffer(bytes);
}

/** The word of a task in this state. */
function wordOf(number: number, state: number): number {
  return ((number >>> BITS) << STATES) | state;
}

const bytes = 4 * SLOTS + 8 * SLOTS * TIMES;

const { timeOrigin } = performance;

/** Milliseconds, on a clock that all threads share. */
export function now(): number {
  return timeOrigin + performance.now();
}

/** Why a running task shall stop; undefined if it may go on. */
export type Stop = 'aborted' | 'timed out' | undefined;

export class Claims {
  readonly buffer: SharedArrayBuffer | ArrayBuffer;
  /** Whether the other side sees what this one writes. */
  readonly shared: boolean;
  readonly #words: Int32Array;
  readonly #times: Float64Array;

  /** Without a buffer, new memory. */
  constructor(buffer: SharedArrayBuffer | ArrayBuffer = newMemory()) {
    this.buffer = buffer;
    this.shared = !(buffer instanceof ArrayBuffer);
    this.#words = new Int32Array(this.buffer, 0, SLOTS);
    this.#times = new Float64Array(this.buffer, 4 * SLOTS);
  }

  // --- the host's ---

  /** The task of this number may be claimed. `deadline` is 0 if it has none. */
  offer(number: number, deadline: number): void {
    const slot = number & MASK;
    this.#times[slot * TIMES + DEADLINE] = deadline;
    // What cannot be taken back is as good as claimed.
    this.#words[slot] = wordOf(number, this.shared ? WAITING : RUNNING);
  }

  /** Takes a task back; whether it was not claimed yet. */
  withdraw(number: number): boolean {
    if (!this.shared) return false;
    return this.#exchange(number, WAITING, WITHDRAWN);
  }

  /** Tells the task, which runs, that it shall stop. */
  stop(number: number, stop: Stop): void {
    this.#exchange(number, RUNNING, stop === 'timed out' ? TIMED_OUT : ABORTED);
  }

  /** Milliseconds that the task has run; undefined if it has not ended, or nobody knows. */
  runTime(number: number): number | undefined {
    if (!this.shared || this.#words[number & MASK] !== wordOf(number, FREE)) return undefined;
    const slot = (number & MASK) * TIMES;
    return (this.#times[slot + ENDED] as number) - (this.#times[slot + BEGUN] as number);
  }

  /** When the task has begun. */
  begunAt(number: number): number | undefined {
    return this.shared ? this.#times[(number & MASK) * TIMES + BEGUN] : undefined;
  }

  // --- the thread's ---

  /** Takes the task of this number for itself, unless the host has taken it back. */
  claim(number: number): boolean {
    if (!this.shared) {
      this.#words[number & MASK] = wordOf(number, RUNNING);
      return true;
    }
    return this.#exchange(number, WAITING, RUNNING);
  }

  /** When the task must have ended; 0 if it need not. */
  deadline(number: number): number {
    return this.#times[(number & MASK) * TIMES + DEADLINE] as number;
  }

  begin(number: number, at: number): void {
    this.#times[(number & MASK) * TIMES + BEGUN] = at;
  }

  /** Returns how many milliseconds it has taken. */
  end(number: number, at: number): number {
    const slot = number & MASK;
    this.#times[slot * TIMES + ENDED] = at;
    this.#words[slot] = wordOf(number, FREE);
    return at - (this.#times[slot * TIMES + BEGUN] as number);
  }

  /** Whether the task, which runs, shall stop. */
  stopOf(number: number): Stop {
    const word = Atomics.load(this.#words, number & MASK);
    if (word === wordOf(number, ABORTED)) return 'aborted';
    return word === wordOf(number, TIMED_OUT) ? 'timed out' : undefined;
  }

  #exchange(number: number, from: number, to: number): boolean {
    const expected = wordOf(number, from);
    const slot = number & MASK;
    return Atomics.compareExchange(this.#words, slot, expected, wordOf(number, to)) === expected;
  }
}
