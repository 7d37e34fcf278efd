/** An abort signal of a library or another realm: not an instance of this realm's class, with the minimal interface. */
class Signal {
  aborted = false;
  reason: unknown;
  readonly listeners = new Set<() => void>();
  addEventListener(_type: 'abort', listener: () => void): void {
    this.listeners.add(listener);
  }
  removeEventListener(_type: 'abort', listener: () => void): void {
    this.listeners.delete(listener);
  }
}

export class ForeignController {
  readonly #signal = new Signal();

  get signal(): AbortSignal {
    return this.#signal as unknown as AbortSignal;
  }

  /** The number of listeners. */
  get listeners(): number {
    return this.#signal.listeners.size;
  }

  abort(reason: unknown): void {
    const signal = this.#signal;
    signal.aborted = true;
    signal.reason = reason;
    for (const listener of [...signal.listeners]) listener();
  }
}
