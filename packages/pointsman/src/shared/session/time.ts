/**
 * How a session measures time: its lease, the namespace's clock, and timers.
 */

/** When a batch was sent, on both clocks, in milliseconds. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

export const now = (): Moment => ({ monotonic: performance.now(), wall: Date.now() });

/**
 * How long this process may assume that the server keeps its session.
 *
 * Invariant: the lease ends here no later than on the server. The server counts from when it applied a batch, the lease
 * from when the batch was sent. It is shortened by one percent, because clocks run at different speeds.
 *
 * The monotonic clock stops while the machine sleeps, so the wall clock is read too, and the one that advanced further
 * counts. If the wall clock is set forward, the lease is in doubt until the next reply; this is harmless.
 */
export class Lease {
  #from: Moment = { monotonic: 0, wall: 0 };
  #length = 0;

  /** Applies a reply: the lease had `left` milliseconds left for a batch sent at `sent`. */
  renew(sent: Moment, left: number): void {
    this.#from = sent;
    this.#length = left * 0.99 - 1;
  }

  end(): void {
    this.#length = 0;
  }

  /** Milliseconds until the lease ends; 0 or less after its end. */
  get left(): number {
    return this.#length - (performance.now() - this.#from.monotonic);
  }

  /** Whether a tenth is left, enough to admit a holder: other code may run before the holder's first step. */
  get lasting(): boolean {
    return this.valid && this.left > this.#length / 10;
  }

  /** Whether the lease has not ended on either clock. */
  get valid(): boolean {
    return this.left > 0 && Date.now() - this.#from.wall < this.#length;
  }
}

/** Milliseconds after which an observed time is discarded, because clocks run at different speeds. */
const MAX_AGE = 10_000;

/**
 * The namespace's time as far as this process has observed it.
 *
 * Invariant: it is never ahead of the namespace, because the time that a reply took is not counted.
 */
export class NamespaceClock {
  /** How far the namespace is ahead of the monotonic clock, at least. */
  #ahead = Number.NEGATIVE_INFINITY;
  #since = 0;

  observe(time: number): void {
    const at = performance.now();
    // The fastest reply is the most exact.
    if (time - at < this.#ahead && at - this.#since < MAX_AGE) return;
    this.#ahead = time - at;
    this.#since = at;
  }

  /** The time that the namespace has reached for certain; 0 if unknown. */
  get time(): number {
    return Math.max(Math.floor(performance.now() + this.#ahead), 0);
  }
}

/** The longest delay of a platform timer, in milliseconds: 24.8 days. */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * A timer with at most one pending delay, which does not keep the process alive. A delay beyond the platform's maximum
 * fires early, after that maximum; the platform itself would fire at once.
 */
export class OneShotTimer {
  readonly #run: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(run: () => void) {
    this.#run = run;
  }

  start(milliseconds: number): void {
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        this.#run();
      },
      Math.min(milliseconds, LONGEST_TIMER),
    ).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** The part of a delay that a platform timer can wait, in milliseconds. */
export const timerDelay = (ms: number): number => Math.min(Math.ceil(ms), LONGEST_TIMER);
