/**
 * How long two threads that answer each other look for the next message before they sleep.
 *
 * Whether that pays depends on what else the machine does, by a factor of a hundred either way: on an
 * idle one a wake-up takes 70 us and a message seen in time 0.3, on a busy one whoever looks keeps the
 * other from running. So it is measured: the caller times some of its calls under each policy, uses the
 * cheapest, and tries the others again in probes that are short, and rarer each time they fail.
 *
 * Invariant: the caller alone decides, for both sides. Were each to learn from its own failures, both
 * would give up for ever: the first call after a sleep is always late.
 *
 * Cost: three readings of the clock for every eighth call. Probes take less than 1 % of the time.
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

/** Every so many calls are timed, a power of two; in a probe all are. */
const SAMPLED = 8;
/** A probe ends after so many calls, or milliseconds. */
const PROBE_CALLS = 12;
const PROBE_TIME = 1;
/** Milliseconds between probes: at first, and at most. */
const SOON = 2;
const LATE = 1_000;
/** How much of the newest sample counts. */
const WEIGHT = 1 / 8;
/** Looking for messages costs the processor, so it has to be clearly better: by a tenth and 2 us. */
const MARGIN = 1.1;
const LEAST = 0.002;
/** What a millisecond counts that the other side looks for a call in vain. */
const WASTE = 0.5;

export class WaitPolicy {
  /** The policy that is in use. */
  current: Policy;
  #index: number;
  #best: number;
  /** Milliseconds per call under each policy, waste included. */
  readonly #costs = policies.map(() => Number.NaN);
  #calls = 0;
  #timing = false;
  #startedAt = 0;
  #endedAt = 0;
  #interval = SOON;
  #nextProbe = 0;
  #probed = 0;
  #probeCalls = 0;
  #probeTime = 0;
  readonly #fixed: boolean;
  readonly #changed: (policy: Policy) => void;

  /** `changed` is told of each policy that comes into use. */
  constructor(adaptive: boolean, changed: (policy: Policy) => void) {
    this.#fixed = !adaptive;
    this.#index = adaptive ? policies.length - 1 : 0;
    this.#best = this.#index;
    this.current = policies[this.#index] as Policy;
    this.#changed = changed;
    changed(this.current);
  }

  /** A call begins. */
  begin(): void {
    if (this.#fixed) return;
    if (this.#probing || (++this.#calls & (SAMPLED - 1)) === 0) {
      this.#startedAt = performance.now();
      this.#timing = true;
      // How long the other side has looked for this call, if it looked in vain.
      const linger = this.current.linger / 1_000;
      if (this.#endedAt > 0 && this.#startedAt - this.#endedAt > linger) {
        this.#startedAt -= WASTE * linger;
      }
    } else if ((this.#calls & (SAMPLED - 1)) === SAMPLED - 1) {
      this.#endedAt = 0;
    }
  }

  /** The answer is there. */
  end(): void {
    if (!this.#timing) {
      if (!this.#fixed && (this.#calls & (SAMPLED - 1)) === SAMPLED - 1) {
        this.#endedAt = performance.now();
      }
      return;
    }
    this.#timing = false;
    const now = performance.now();
    const cost = now - this.#startedAt;
    this.#endedAt = this.#probing ? now : 0;
    if (this.#probing) {
      // The first call after a change pays for the change.
      if (++this.#probeCalls === 1) return;
      this.#probeTime += cost;
      if (this.#probeCalls > PROBE_CALLS || this.#probeTime > PROBE_TIME) this.#endProbe(now);
      return;
    }
    const known = this.#costs[this.#index] as number;
    this.#costs[this.#index] = Number.isNaN(known) ? cost : known + (cost - known) * WEIGHT;
    this.#choose(now);
    if (now >= this.#nextProbe) this.#beginProbe(now);
  }

  get #probing(): boolean {
    return this.#index !== this.#best;
  }

  #beginProbe(now: number): void {
    this.#probed = (this.#probed + 1) % policies.length;
    if (this.#probed === this.#best) this.#probed = (this.#probed + 1) % policies.length;
    this.#probeCalls = 0;
    this.#probeTime = 0;
    this.#endedAt = 0;
    this.#use(this.#probed);
    this.#nextProbe = now + this.#interval;
  }

  #endProbe(now: number): void {
    const cost = this.#probeTime / (this.#probeCalls - 1);
    this.#costs[this.#probed] = cost;
    this.#use(this.#best);
    this.#interval = Math.min(2 * this.#interval, LATE);
    this.#choose(now);
    this.#nextProbe = now + this.#interval;
  }

  /** The first of the policies is the cheapest in processor time; each next has to earn its place. */
  #choose(now: number): void {
    let best = this.#best;
    for (const [index, cost] of this.#costs.entries()) {
      if (index === best || Number.isNaN(cost)) continue;
      const known = this.#costs[best] as number;
      if (Number.isNaN(known)) continue;
      const better = index < best ? cost < known * MARGIN + LEAST : cost * MARGIN + LEAST < known;
      if (better) best = index;
    }
    if (best === this.#best) return;
    this.#best = best;
    this.#interval = SOON;
    this.#nextProbe = now + this.#interval;
    this.#use(best);
  }

  #use(index: number): void {
    this.#index = index;
    this.current = policies[index] as Policy;
    this.#changed(this.current);
  }
}
