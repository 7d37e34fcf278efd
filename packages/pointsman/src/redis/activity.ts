/**
 * Counts the waiting requests and the held locks of a mutex, with those of the mutexes within it.
 *
 * Invariant: a request counts as waiting from the call until it is granted or refused. Its lock counts as held from the
 * grant until it is lost or the server has acknowledged its release. The mutex never appears idle in between.
 */

import { notIdle } from '../sync/errors.js';
import { checkWaitOptions, type WaitOptions } from '../sync/options.js';
import { giveUpOn } from '../sync/wait/give-up.js';

export class Activity {
  waiting = 0;
  held = 0;
  /** The activity of the mutex that this one is within. */
  parent: Activity | undefined;
  readonly #drains = new Set<() => void>();

  /** Adds to both numbers. */
  count(waiting: number, held: number): void {
    this.waiting += waiting;
    this.held += held;
    this.parent?.count(waiting, held);
    if (this.#drains.size === 0 || this.waiting + this.held > 0) return;
    const drains = [...this.#drains];
    this.#drains.clear();
    for (const resolve of drains) resolve();
  }

  /** Resolves when nothing is held and no request waits. Rejects when `timeout` elapses or `signal` aborts. */
  async drain(options: WaitOptions = {}, label = ''): Promise<void> {
    checkWaitOptions(options);
    const { signal, timeout } = options;
    if (signal?.aborted) throw signal.reason;
    if (this.waiting + this.held === 0) return;
    const left = (ms: number) => notIdle(ms, label, this.held, this.waiting);
    if (timeout === 0) throw left(0);
    await new Promise<void>((resolve, reject) => {
      const done = (): void => {
        stop();
        resolve();
      };
      const giveUp = (reason: unknown): void => {
        this.#drains.delete(done);
        reject(reason);
      };
      const stop = giveUpOn(options, giveUp, left);
      this.#drains.add(done);
    });
  }
}
