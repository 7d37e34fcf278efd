/**
 * For how long this process may believe that the server keeps its session.
 *
 * Invariant: never longer than the server does. The server counts from when it applied a batch, the
 * lease from when the batch was sent, which was earlier. It is measured on the monotonic clock, less
 * one percent for clocks that run at different speeds. The monotonic clock stands still while a
 * machine sleeps, so the wall clock is watched beside it and the one that has moved further counts: if
 * somebody sets the wall clock forward the lease is in doubt until the next answer, which is harmless.
 */

/** When a batch was sent, on both clocks, in milliseconds. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

export const now = (): Moment => ({ monotonic: performance.now(), wall: Date.now() });

export class Lease {
  #from: Moment = { monotonic: 0, wall: 0 };
  #length = 0;

  /** Takes in an answer: the server had `left` milliseconds left for a batch sent at `sent`. */
  renew(sent: Moment, left: number): void {
    this.#from = sent;
    this.#length = left * 0.99 - 1;
  }

  /** Ends it: nothing is known of the server's view. */
  end(): void {
    this.#length = 0;
  }

  /** Milliseconds until it runs out; 0 or less when it has. */
  get left(): number {
    return this.#length - (performance.now() - this.#from.monotonic);
  }

  /**
   * Whether there is enough left to begin something: a tenth. Between the look at the clock and the
   * first step of whoever is let in, others may have theirs.
   */
  get lasting(): boolean {
    return this.valid && this.left > this.#length / 10;
  }

  /** Whether it has neither run out nor is in doubt. */
  get valid(): boolean {
    return this.left > 0 && Date.now() - this.#from.wall < this.#length;
  }
}

/** Milliseconds after which what was heard of the time is given up: clocks run at different speeds. */
const FORGOTTEN_AFTER = 10_000;

/**
 * What this process knows of the namespace's time. Invariant: it is never ahead of it, as the time that
 * an answer took on its way is left out.
 */
export class Witness {
  /** By how much the namespace's time is ahead of the monotonic clock, at least. */
  #ahead = Number.NEGATIVE_INFINITY;
  #since = 0;

  /** Takes in the time that an answer tells. */
  hear(time: number): void {
    const at = performance.now();
    // The answer that was fastest tells most.
    if (time - at < this.#ahead && at - this.#since < FORGOTTEN_AFTER) return;
    this.#ahead = time - at;
    this.#since = at;
  }

  /** The time that has certainly come; 0 if nothing is known. */
  get time(): number {
    return Math.max(Math.floor(performance.now() + this.#ahead), 0);
  }
}
