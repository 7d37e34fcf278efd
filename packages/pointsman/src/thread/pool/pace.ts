/**
 * How long tasks of a function take, so that a pool knows how many a thread may have ahead, and whether
 * another should help.
 *
 * Invariant: of many tasks three in four take no longer than is expected. A quantile and no mean: one task in a
 * thousand that the system has interrupted takes a thousand times as long.
 */

/** Milliseconds. Tasks of which nothing is known are taken to be long. */
const UNKNOWN = 1;
const SHORTEST = 1e-4;

/** What a task that took longer, or less long, makes of what is expected: the quotient of the logarithms is 3. */
const LONGER = 2;
const SHORTER = LONGER ** (-1 / 3);

/** Of one function. */
export class Pace {
  /** Milliseconds. */
  expected = UNKNOWN;

  /** A task has taken so many milliseconds. */
  took(time: number): void {
    const { expected } = this;
    this.expected =
      time > expected
        ? Math.min(time, expected * LONGER)
        : Math.max(time, expected * SHORTER, SHORTEST);
  }
}

/** Of all functions that a pool has run. */
export class Paces {
  readonly #named = new Map<string, Pace>();
  readonly #inline = new WeakMap<object, Pace>();

  /** Of a function that the threads have. */
  named(name: string): Pace {
    const pace = this.#named.get(name) ?? new Pace();
    this.#named.set(name, pace);
    return pace;
  }

  /** Of a function that was written in place. */
  inline(definition: object): Pace {
    const pace = this.#inline.get(definition) ?? new Pace();
    this.#inline.set(definition, pace);
    return pace;
  }
}
