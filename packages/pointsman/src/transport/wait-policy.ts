/**
 * How long a thread that waits for another spins before it sleeps: no longer than a wake-up has lately
 * cost, and not at all for a while when spinning has kept failing.
 *
 * That is competitive spinning: whoever spins for as long as a sleep would cost pays at most twice what
 * the better choice would have cost, whatever comes (Karlin, Li, Manasse, Owicki: "Empirical Studies of
 * Competitive Spinning for a Shared-Memory Multiprocessor", SOSP 1991). Where idle cores sleep a wake-up is
 * dear, and on a busy machine it is cheap, so the bound follows the machine.
 *
 * Invariant: it has no clock and no thread of its own. Whoever waits tells it what has happened.
 */

/** Milliseconds: a wake-up that took longer has waited for a core, and spinning would have taken that core. */
const MAX_COST = 0.25;
/** At first and at least: two threads that have come to share a core need so long to part; wins `all cores busy`. */
const MIN_COST = 0.03;
/** What one measurement moves the cost by: it settles at the median, as an interrupted wake-up is off by far. */
const STEP = 1.2;
/** Waits in a row for which it spins in vain before it stops: one interruption is no reason to. */
const MAX_MISSES = 3;
/** Waits for which it then sleeps at once, so that a burst of slow answers does not end the spinning for long. */
const FIRST_PAUSE = 16;
/** The same at most: where spinning never pays, so few waits waste a spin. */
const MAX_PAUSE = 256;

export class WaitPolicy {
  readonly #spins: boolean;
  #cost = MIN_COST;
  #misses = 0;
  #pause = FIRST_PAUSE;
  /** Waits that are left of the pause. */
  #paused = 0;

  /** With `spins` false it never does. */
  constructor(spins = true) {
    this.#spins = spins;
  }

  /** Milliseconds to spin now; 0 is to sleep at once. */
  get bound(): number {
    return this.#spins && this.#paused === 0 ? this.#cost : 0;
  }

  /** What a wake-up has lately cost, in milliseconds. */
  get cost(): number {
    return this.#cost;
  }

  /** Spinning has ended because what was waited for has come. */
  hit(): void {
    this.#misses = 0;
    if (this.#pause > FIRST_PAUSE) this.#pause >>= 1;
  }

  /** Spinning was in vain. After a pause once is enough for the next, twice as long. */
  missed(): void {
    if (++this.#misses < MAX_MISSES) return;
    this.#paused = this.#pause;
    this.#pause = Math.min(2 * this.#pause, MAX_PAUSE);
  }

  /**
   * A sleep is over, and from the moment at which the other side ended it the wake-up took so many
   * milliseconds; undefined if that is not known.
   */
  woke(cost: number | undefined): void {
    if (this.#paused > 0) this.#paused--;
    if (cost === undefined) return;
    const moved = cost > this.#cost ? this.#cost * STEP : this.#cost / STEP;
    this.#cost = Math.min(Math.max(moved, MIN_COST), MAX_COST);
  }
}
