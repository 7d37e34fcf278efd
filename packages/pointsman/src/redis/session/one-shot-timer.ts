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
