/** The requests about which the store does not decide: they are refused, start, or are decided by this process. */

import type { StoreError } from '../errors.js';
import type { Decisions } from './decisions.js';
import type { Fallback } from './fallback.js';
import type { WhenUnavailable } from './options.js';
import type { Outcomes } from './outcomes.js';
import type { Permits } from './permits.js';
import type { SharedRequest } from './request.js';

export class Undecided {
  readonly #when: WhenUnavailable;
  readonly #fallback: Fallback;
  readonly #decisions: Decisions;
  readonly #stats: { undecided: number };
  readonly #outcomes: Outcomes;
  readonly #permits: Permits;
  /** The requests that the local limiter decides, and how to withdraw them. */
  readonly #local = new Map<SharedRequest, AbortController>();

  constructor(
    when: WhenUnavailable,
    fallback: Fallback,
    decisions: Decisions,
    stats: { undecided: number },
    outcomes: Outcomes,
    permits: Permits,
  ) {
    this.#when = when;
    this.#fallback = fallback;
    this.#decisions = decisions;
    this.#stats = stats;
    this.#outcomes = outcomes;
    this.#permits = permits;
  }

  get requests(): Iterable<SharedRequest> {
    return this.#local.keys();
  }

  decide(request: SharedRequest, error: StoreError): void {
    this.#stats.undecided++;
    this.#outcomes.leaveSlot(request);
    if (this.#when === 'allow') {
      this.#outcomes.begin(request);
    } else if (this.#when === 'refuse') {
      this.#outcomes.reject(request, error);
    } else {
      request.state = 'local';
      void this.#decideHere(request);
    }
  }

  async #decideHere(request: SharedRequest): Promise<void> {
    const { key, weight, expires } = request;
    const controller = new AbortController();
    this.#local.set(request, controller);
    // With a timeout of 0 nothing else ends the wait.
    const timeout = expires < Infinity ? Math.max(0, expires - performance.now()) : undefined;
    const { signal } = controller;
    try {
      const local = await this.#fallback.start(key, weight, { signal, timeout });
      if (this.#local.delete(request)) {
        this.#outcomes.begin(request, this.#permits.make({ grant: undefined, weight, local }));
      } else {
        // It was given up in this moment.
        local.settle(0);
        local.release();
      }
    } catch (error) {
      if (this.#local.delete(request)) this.#outcomes.reject(request, error);
    }
  }

  /** The request is given up. */
  withdraw(request: SharedRequest): void {
    const controller = this.#local.get(request);
    this.#local.delete(request);
    controller?.abort();
  }

  /** Lets the store count this process if its share may be needed. */
  attend(): void {
    if (this.#when !== 'share') return;
    const start = this.#fallback.attend();
    if (start === undefined) return;
    this.#decisions.ask(() => start, {
      decided: ({ remaining }) => this.#fallback.counted(remaining[0] as number),
      undecided: () => this.#fallback.missed(),
    });
  }
}
