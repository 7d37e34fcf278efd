/** An abort signal as a library or another realm makes one: no instance of this realm's class, and the least it needs. */
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

  /** Who listens. */
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
