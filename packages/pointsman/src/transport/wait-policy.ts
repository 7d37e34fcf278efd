/**
 * Decides how long a waiting thread spins before it sleeps: for as long as a recent wake-up took, and not at all for
 * a while after spinning has failed repeatedly.
 *
 * This is competitive spinning: a thread that spins for as long as a sleep would cost pays at most twice the cost of
 * the better choice (Karlin, Li, Manasse, Owicki: "Empirical Studies of Competitive Spinning for a Shared-Memory
 * Multiprocessor", SOSP 1991). A wake-up is expensive where idle cores sleep, and cheap on a busy machine, so the
 * bound is measured.
 *
 * Invariant: the policy has no clock and no thread. The waiting thread reports each outcome.
 */

/** Milliseconds. A wake-up that took longer waited for a core, and spinning would have occupied that core. */
const MAX_COST = 0.25;
/** The initial and minimum bound. Two threads on one core take this long to separate. Row: `all cores busy`. */
const MIN_COST = 0.03;
/** The factor by which one measurement moves the cost. It settles at the median, so outliers have little effect. */
const STEP = 1.2;
/** Failed spins in a row before a pause: a single interruption is not a reason to stop. */
const MAX_MISSES = 3;
/** The number of waits in the first pause; they sleep at once. Short, so that a burst of slow replies costs little. */
const FIRST_PAUSE = 16;
/** The number of waits in the longest pause, for a machine on which spinning never succeeds. */
const MAX_PAUSE = 256;

export class WaitPolicy {
  readonly #spins: boolean;
  #cost = MIN_COST;
  #misses = 0;
  #pause = FIRST_PAUSE;
  /** The remaining waits of the pause. */
  #paused = 0;

  /** With `spins` false, every wait sleeps at once. */
  constructor(spins = true) {
    this.#spins = spins;
  }

  /** Milliseconds to spin now; 0 means to sleep at once. */
  get bound(): number {
    return this.#spins && this.#paused === 0 ? this.#cost : 0;
  }

  /** The cost of a recent wake-up, in milliseconds. */
  get cost(): number {
    return this.#cost;
  }

  /**
   * Reports a spin that succeeded. Not called for an event that the first look finds. On busy cores the other thread
   * often takes this thread's core when it is woken, and the event is there when this thread runs again: a sleep would
   * have gained the same. Rows: `all cores busy`, where such events would otherwise make up for the spins that fail.
   */
  hit(): void {
    this.#misses = 0;
    if (this.#pause > FIRST_PAUSE) this.#pause >>= 1;
  }

  /** Reports a spin that failed. After a pause, one failure starts the next, which is twice as long. */
  missed(): void {
    if (++this.#misses < MAX_MISSES) return;
    this.#paused = this.#pause;
    this.#pause = Math.min(2 * this.#pause, MAX_PAUSE);
  }

  /** Reports a sleep that ended, and the milliseconds that the wake-up took; undefined if not known. */
  woke(cost: number | undefined): void {
    if (this.#paused > 0) this.#paused--;
    if (cost === undefined) return;
    const moved = cost > this.#cost ? this.#cost * STEP : this.#cost / STEP;
    this.#cost = Math.min(Math.max(moved, MIN_COST), MAX_COST);
  }
}
