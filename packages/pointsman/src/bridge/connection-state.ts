/**
 * The promises `ready` and `ended` of one side of a bridge.
 *
 * Invariant: `ready` rejects if the bridge ends first. If no caller waits for it, that is not an unhandled rejection.
 */

import { type Ending, endingError } from './ending.js';

export class ConnectionState {
  readonly ready: Promise<void>;
  readonly ended: Promise<string>;
  ending: Ending | undefined;
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

  /** `call` is the function that created this side. */
  end(ending: Ending, call: 'expose' | 'connect' | 'connectSync'): void {
    this.ending = ending;
    this.#rejectReady(endingError(ending, call, 'the bridge is closed'));
    this.#resolveEnded(ending.text);
  }
}
