/**
 * The two promises that either end of a bridge gives its user: that it is connected, and that it is over.
 *
 * Invariant: whoever waits for `ready` learns of the end too, and need not handle it if nobody waits.
 */

import { BridgeClosedError } from './errors.js';

export class ConnectionState {
  readonly ready: Promise<void>;
  readonly closed: Promise<string>;
  /** The bridge is connected. */
  resolveReady!: () => void;
  #rejectReady!: (error: BridgeClosedError) => void;
  #resolveClosed!: (reason: string) => void;

  constructor() {
    this.ready = new Promise((resolve, reject) => {
      this.resolveReady = resolve;
      this.#rejectReady = reject;
    });
    this.ready.catch(() => {});
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
  }

  /** The bridge is over; `call` is what began it here. */
  end(reason: string, call: 'expose' | 'connect'): void {
    this.#rejectReady(new BridgeClosedError(`the bridge is closed: ${reason}`, call));
    this.#resolveClosed(reason);
  }
}
