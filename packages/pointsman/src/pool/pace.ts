/**
 * How long tasks of a function take, so that a pool knows how many a thread may have ahead, and whether
 * another should help.
 *
 * Invariant: of many tasks three in four take no longer than is usual. That is for whoever asks whether a task
 * comes to its turn soon: the mean says little of it, as one task in a thousand that the system has
 * interrupted takes a thousand times as long. For how much work a thread has in all, it is the mean.
 */

/** Milliseconds. Tasks of which nothing is known are taken to be long. */
const UNKNOWN = 1;
const SHORTEST = 1e-4;

/** The weight of a task in the mean. */
const NEWEST = 1 / 4;

/** What a task that took longer, or less long, makes of what is usual: the quotient of the logarithms is 3. */
const LONGER = 2;
const SHORTER = LONGER ** (-1 / 3);

/** Of one function. */
export class Pace {
  /** Milliseconds. */
  usual = UNKNOWN;
  mean = UNKNOWN;

  /** A task has taken so many milliseconds. */
  took(time: number): void {
    const { usual } = this;
    this.usual =
      time > usual ? Math.min(time, usual * LONGER) : Math.max(time, usual * SHORTER, SHORTEST);
    this.mean += (time - this.mean) * NEWEST;
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
