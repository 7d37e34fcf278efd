/** The common parts of all models: errors, a clock, and cancellable waits. */
import type { WaitRequest } from '../implementation.js';
import type { ErrorKind, Lag } from '../scenario.js';

export class ModelError extends Error {
  override name = 'ModelError';

  constructor(readonly kind: ErrorKind | Lag) {
    super(JSON.stringify(kind));
  }
}

/** A clock that only `advance` moves. */
export class ModelClock {
  private now = 0;
  private timers: { at: number; callback: () => void }[] = [];

  get size(): number {
    return this.timers.length;
  }

  start(milliseconds: number, callback: () => void): () => void {
    const timer = { at: this.now + milliseconds, callback };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((other) => other !== timer);
    };
  }

  advance(milliseconds: number): void {
    this.now += milliseconds;
    const due = this.timers.filter((timer) => timer.at <= this.now);
    this.timers = this.timers.filter((timer) => timer.at > this.now);
    for (const timer of due.sort((one, other) => one.at - other.at)) timer.callback();
  }
}

/** A waiter: settled once, by a grant or a refusal. */
export interface Waiter<Item = unknown, Answer = unknown> {
  /** The request. */
  readonly item: Item;
  readonly priority: number;
  readonly signal: AbortSignal | undefined;
  grant(answer: Answer): void;
  refuse(reason: unknown): void;
}

/** Waits in queues, which are plain arrays. */
export abstract class ModelWaiting {
  constructor(protected readonly clock: ModelClock) {}

  /** Grants all requests that can be granted now, in order. */
  protected abstract serve(): void;

  /** Inserts behind all waiters of the same or a higher priority. */
  protected insert(queue: Waiter[], waiter: Waiter): void {
    const place = queue.findIndex((other) => other.priority < waiter.priority);
    queue.splice(place < 0 ? queue.length : place, 0, waiter);
  }

  /** Removes a cancelled waiter and serves those that it blocked. */
  protected leave(queue: Waiter[], waiter: Waiter): void {
    const place = queue.indexOf(waiter);
    if (place >= 0) queue.splice(place, 1);
    this.serve();
  }

  /** Rejects at once if the signal has aborted. */
  protected queueUp<Item, Answer>(
    request: WaitRequest & { priority?: number },
    queue: Waiter<Item, Answer>[],
    item: Item,
  ): Promise<Answer> {
    const { signal, timeout, priority = 0 } = request;
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      let stopTimer: (() => void) | undefined;
      const settle = () => {
        stopTimer?.();
        signal?.removeEventListener('abort', onAbort);
      };
      const waiter: Waiter<Item, Answer> = {
        item,
        priority,
        signal,
        grant: (answer) => {
          settle();
          resolve(answer);
        },
        refuse: (reason) => {
          settle();
          reject(reason);
          this.leave(queue as Waiter[], waiter as Waiter);
        },
      };
      const onAbort = () => waiter.refuse(signal?.reason);
      this.insert(queue as Waiter[], waiter as Waiter);
      signal?.addEventListener('abort', onAbort);
      this.serve();
      if (timeout === undefined || !queue.includes(waiter)) return;
      const onTimeout = () => waiter.refuse(new ModelError('timeout'));
      if (timeout === 0) onTimeout();
      else stopTimer = this.clock.start(timeout, onTimeout);
    });
  }
}

/** A guard, which releases once. */
export class ModelGuard {
  released = false;

  constructor(private readonly giveBack: () => void) {}

  release(): void {
    if (this.released) return;
    this.released = true;
    this.giveBack();
  }
}

export function checkNumber(value: number, most: number, least = 1): void {
  if (!Number.isSafeInteger(value) || value < least || value > most) {
    throw new ModelError('invalid');
  }
}

export const closed = (): ModelError => new ModelError('closed');
