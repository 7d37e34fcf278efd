/** The handle of something that was scheduled: how far it is, and how to move it or to take it out of the queue. */

import { checkFunction } from '../errors.js';
import { Permit } from '../semaphore/permit.js';
import type { StartRequest } from './lanes.js';
import type { RunOptions, Scheduled } from './options.js';
import type { Starting } from './start.js';
import type { Work } from './work.js';

/** What a limiter must offer. */
interface Turns {
  /** Reads options, and throws for those that cannot be used. */
  _read(options: RunOptions | undefined): StartRequest;
  /** A permit, or the promise of one for whoever has to wait. */
  _request(request: StartRequest): Permit | Promise<Permit>;
  /** Calls the function, and gives the permit back when its result has settled. */
  _call<T>(fn: Work<T>, permit: Starting, request: StartRequest): Promise<T>;
  _move(request: StartRequest | undefined, priority: number): void;
  _cancel(request: StartRequest | undefined, reason: unknown): boolean;
}

export class Handle<T> implements Scheduled<T> {
  readonly result: Promise<T>;
  readonly #limiter: Turns;
  #state: Scheduled<T>['state'] = 'waiting';
  #request: StartRequest | undefined;

  /** Needs no object to be called on. */
  readonly cancel = (reason?: unknown): boolean => this.#limiter._cancel(this.#request, reason);

  constructor(limiter: Turns, fn: Work<T>, options: RunOptions | undefined) {
    this.#limiter = limiter;
    this.result = this.#start(fn, options);
  }

  get state(): Scheduled<T>['state'] {
    return this.#state;
  }

  get priority(): number {
    return this.#request?.priority ?? 0;
  }

  set priority(priority) {
    this.#limiter._move(this.#request, priority);
  }

  async #start(fn: Work<T>, options: RunOptions | undefined): Promise<T> {
    try {
      checkFunction('fn', fn);
      const limiter = this.#limiter;
      const request = limiter._read(options);
      this.#request = request;
      request.runs = true;
      const permit = limiter._request(request);
      // Not awaited where that is not needed: nothing in the way, it starts at once.
      const granted = permit instanceof Permit ? permit : await permit;
      this.#state = 'running';
      return await limiter._call(fn, granted, request);
    } finally {
      this.#state = 'done';
    }
  }
}
