/** A timer of which at most one is pending, and which does not keep the process alive. */
export class OneShotTimer {
  readonly #run: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(run: () => void) {
    this.#run = run;
  }

  /** Does nothing while it is pending. */
  start(milliseconds: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#run();
    }, milliseconds).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
