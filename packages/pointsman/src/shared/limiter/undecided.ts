/** The requests about which the store does not decide: they are refused, start, or are decided by this process. */

import type { StoreError } from '../errors.js';
import type { Decisions } from './decisions.js';
import type { Fallback } from './fallback.js';
import type { WhenUnavailable } from './options.js';
import type { SharedRequest } from './request.js';

interface Owner {
  _begin(request: SharedRequest): void;
  _reject(request: SharedRequest, reason: unknown): void;
}

export class Undecided {
  readonly #when: WhenUnavailable;
  readonly #fallback: Fallback;
  readonly #decisions: Decisions;
  readonly #stats: { undecided: number };
  readonly #owner: Owner;
  /** The requests that the local limiter decides, and how to withdraw them. */
  readonly #local = new Map<SharedRequest, AbortController>();

  constructor(
    when: WhenUnavailable,
    fallback: Fallback,
    decisions: Decisions,
    stats: { undecided: number },
    owner: Owner,
  ) {
    this.#when = when;
    this.#fallback = fallback;
    this.#decisions = decisions;
    this.#stats = stats;
    this.#owner = owner;
  }

  get requests(): Iterable<SharedRequest> {
    return this.#local.keys();
  }

  decide(request: SharedRequest, error: StoreError): void {
    this.#stats.undecided++;
    if (this.#when === 'allow') {
      this.#owner._begin(request);
    } else if (this.#when === 'refuse') {
      this.#owner._reject(request, error);
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
      const release = await this.#fallback.start(key, weight, { signal, timeout });
      release();
      if (this.#local.delete(request)) this.#owner._begin(request);
    } catch (error) {
      if (this.#local.delete(request)) this.#owner._reject(request, error);
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
