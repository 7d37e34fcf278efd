/**
 * The concurrency of a limiter: claims with weights, which a session renews, so that those of a process that has died
 * come back.
 *
 * Invariant: a request takes its key's slots before those of all keys, so a key that is full holds no other key back,
 * and no two requests wait for each other.
 */

import { type Weight, weighs } from '../../sync/limiter/rules.js';
import type { WaitOptions } from '../../sync/options.js';
import type { SharedGuard } from '../acquisition.js';
import { SharedPrimitive } from '../primitive.js';
import type { Store } from '../store.js';
import type { SharedRates } from './limits.js';

/** The slots of a request. */
export interface Taken {
  /** Whether they are held beyond doubt; a process that was suspended or disconnected may have lost them. */
  readonly valid: boolean;
  release(): void;
}

export class Slots extends SharedPrimitive {
  readonly #rates: SharedRates;

  constructor(store: Store, rates: SharedRates) {
    super(store, 'limiter', undefined);
    this.#rates = rates;
  }

  /** Resolves to undefined if the slots are not free and `wait` is false. */
  async take(
    key: string | undefined,
    weight: Weight,
    options: WaitOptions,
    wait: boolean,
  ): Promise<Taken | undefined> {
    const { signal, timeout = Number.POSITIVE_INFINITY } = options;
    const expires = performance.now() + timeout;
    const taken = weighs(weight, 'concurrency');
    const guards: SharedGuard[] = [];
    const release = (): void => {
      for (const guard of guards) void guard.release();
    };
    try {
      for (const [name, limit] of this.#rates.slotsOf(key)) {
        if (taken === 0 || limit === Infinity) continue;
        const left = Math.max(0, expires - performance.now());
        const share = { weight: taken, limit };
        const guard = await this._request([name], { signal, timeout: left }, share, wait);
        if (guard === undefined) {
          release();
          return undefined;
        }
        guards.push(guard);
      }
    } catch (error) {
      release();
      throw error;
    }
    return {
      get valid() {
        return guards.every((guard) => guard.valid);
      },
      release,
    };
  }
}
