/**
 * How long two threads that answer each other look for the next message before they sleep.
 *
 * Whether that pays depends on what else the machine does, by a factor of a hundred either way: on an
 * idle one a wake-up takes 70 us and a message seen in time 0.3, on a busy one whoever looks keeps the
 * other from running. So it is measured: the caller times its calls under each policy, uses the
 * cheapest, and tries the others again in probes that are short, and rarer each time they fail.
 *
 * Invariant: the caller alone decides, for both sides. Were each to learn from its own failures, both
 * would give up for ever: the first call after a sleep is always late.
 *
 * Cost: one reading of the clock for every eighth call. Probes take less than 2 % of the time.
 */

/** Microseconds: how long the caller looks for its answer, and the other side for the next call. */
export interface Policy {
  readonly spin: number;
  readonly linger: number;
}

export const policies: readonly Policy[] = [
  { spin: 0, linger: 0 },
  { spin: 25, linger: 50 },
  { spin: 150, linger: 300 },
];

/** The clock is read once for so many calls, a power of two. */
const STRETCH = 8;
/** Milliseconds over which the policy in use is measured. Long, as one interruption takes 4. */
const EPOCH = 20;
/**
 * A probe ends after so many milliseconds, or when it was in vain so often. Not after so many calls: where
 * hundreds are made together they say nothing of the wait between them.
 */
const PROBE_TIME = 1;
const PROBE_SLEEPS = 4;
/** Milliseconds between probes: at first, and at most. */
const SOON = 2;
const LATE = 1_000;
/** Milliseconds for a stretch of calls after which nobody is in a hurry. */
const RARE = 200;
/** Looking for messages costs the processor, so it has to be clearly better: by a tenth and 0.2 us. */
const MARGIN = 1.1;
const LEAST = 0.0002;

/** The policy that looks for nothing. */
const PARKED = 0;

export class WaitPolicy {
  /** The policy that is in use. */
  current: Policy;
  #index: number;
  #best: number;
  /** Milliseconds per call under each policy, pauses included. */
  readonly #costs = policies.map(() => Number.NaN);
  #calls = 0;
  /** When the current stretch and the current measurement began; 0 if they are to begin. */
  #stretchedAt = 0;
  #measuredAt = 0;
  #measured = 0;
  /** How often the caller has slept although it looked first, since the measurement began. */
  #sleeps = 0;
  #interval = SOON;
  #nextProbe = 0;
  #probed = PARKED;
  readonly #fixed: boolean;
  readonly #changed: (policy: Policy) => void;

  /** `changed` is told of each policy that comes into use. */
  constructor(adaptive: boolean, changed: (policy: Policy) => void) {
    this.#fixed = !adaptive;
    this.#index = adaptive ? policies.length - 1 : PARKED;
    this.#best = this.#index;
    this.current = policies[this.#index] as Policy;
    this.#changed = changed;
    changed(this.current);
  }

  /** A call begins. */
  begin(): void {
    if (!this.#fixed && (++this.#calls & (STRETCH - 1)) === 0) this.#mark(performance.now());
  }

  /** The caller goes to sleep: if it has looked before, that was in vain. */
  slept(): void {
    if (this.#fixed || this.current.spin === 0) return;
    this.#sleeps++;
    if (this.#index !== this.#best) {
      if (this.#sleeps > PROBE_SLEEPS) this.#endProbe(performance.now(), Number.POSITIVE_INFINITY);
    } else if (this.#sleeps > STRETCH && this.#sleeps > this.#measured / 2) {
      this.#settleOn(PARKED, performance.now());
    }
  }

  /** A stretch of calls has ended. */
  #mark(now: number): void {
    const stretch = now - this.#stretchedAt;
    const isFirst = this.#stretchedAt === 0;
    this.#stretchedAt = now;
    if (isFirst || this.#measuredAt === 0) {
      // The first calls after a change pay for the change.
      this.#beginMeasurement(now);
      return;
    }
    if (stretch > RARE) {
      this.#settleOn(PARKED, now);
      return;
    }
    this.#measured += STRETCH;
    const elapsed = now - this.#measuredAt;
    const cost = elapsed / this.#measured;
    if (this.#index !== this.#best) {
      if (elapsed >= PROBE_TIME) this.#endProbe(now, cost);
      return;
    }
    const isDue = now >= this.#nextProbe;
    if (elapsed < EPOCH && !(isDue && Number.isNaN(this.#costs[this.#index]))) {
      if (isDue && elapsed >= Math.min(EPOCH, this.#interval)) this.#beginProbe();
      return;
    }
    const known = this.#costs[this.#index] as number;
    this.#costs[this.#index] = Number.isNaN(known) ? cost : (known + cost) / 2;
    this.#beginMeasurement(now);
    this.#choose(now);
    if (isDue && this.#index === this.#best) this.#beginProbe();
  }

  #beginMeasurement(now: number): void {
    this.#measuredAt = now;
    this.#measured = 0;
    this.#sleeps = 0;
  }

  #beginProbe(): void {
    this.#probed = (this.#probed + 1) % policies.length;
    if (this.#probed === this.#best) this.#probed = (this.#probed + 1) % policies.length;
    this.#use(this.#probed);
  }

  #endProbe(now: number, cost: number): void {
    this.#costs[this.#probed] = cost;
    this.#use(this.#best);
    this.#interval = Math.min(2 * this.#interval, LATE);
    this.#nextProbe = now + this.#interval;
    this.#choose(now);
  }

  /** The first of the policies is the cheapest in processor time; each next has to earn its place. */
  #choose(now: number): void {
    let best = this.#best;
    for (const [index, cost] of this.#costs.entries()) {
      const known = this.#costs[best] as number;
      if (index === best || Number.isNaN(cost) || Number.isNaN(known)) continue;
      const isBetter = index < best ? cost < known * MARGIN + LEAST : cost * MARGIN + LEAST < known;
      if (isBetter) best = index;
    }
    if (best !== this.#best) this.#settleOn(best, now);
  }

  #settleOn(index: number, now: number): void {
    if (index !== this.#best) {
      this.#interval = SOON;
      this.#nextProbe = now + SOON;
    }
    this.#best = index;
    this.#use(index);
  }

  #use(index: number): void {
    this.#measuredAt = 0;
    this.#sleeps = 0;
    if (index === this.#index) return;
    this.#index = index;
    this.current = policies[index] as Policy;
    this.#changed(this.current);
  }
}
