/**
 * What either end of a bridge tells its user of how it stands: that it is connected, and that it is over.
 *
 * Invariant: whoever waits for `ready` learns of the end too, and need not handle it if nobody waits.
 */

import { type Ending, refusal } from './ending.js';

export class ConnectionState {
  readonly ready: Promise<void>;
  readonly ended: Promise<string>;
  /** Why it is over, if it is. */
  ending: Ending | undefined;
  /** The bridge is connected. */
  resolveReady!: () => void;
  #rejectReady!: (error: unknown) => void;
  #resolveEnded!: (text: string) => void;

  constructor() {
    this.ready = new Promise((resolve, reject) => {
      this.resolveReady = resolve;
      this.#rejectReady = reject;
    });
    this.ready.catch(() => {});
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  /** The bridge is over; `call` is what began it here. */
  end(ending: Ending, call: 'expose' | 'connect'): void {
    this.ending = ending;
    this.#rejectReady(refusal(ending, call, 'the bridge is closed'));
    this.#resolveEnded(ending.text);
  }
}
