/** As many milliseconds as a timer of the platform can take: 24.8 days. */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * A timer of which at most one is pending, and which does not keep the process alive. It fires early where the time
 * is longer than the platform's timers take, which would fire at once.
 */
export class OneShotTimer {
  readonly #run: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(run: () => void) {
    this.#run = run;
  }

  /** Does nothing while it is pending. */
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
