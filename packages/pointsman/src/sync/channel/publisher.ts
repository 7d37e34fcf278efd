/**
 * What a broadcast and a watch have in common: receivers that each see what is sent, at their own pace.
 *
 * Invariant: receivers hold their publisher. It holds those that wait, for as long as they do, and otherwise knows only
 * how many there are: a receiver that nobody refers to any more is garbage.
 */

import { Closable } from '../closable.js';
import { dispose } from '../dispose.js';
import { detached } from '../errors.js';
import { type NameOptions, readLabel } from '../wait/queue.js';
import { firstOf, Receiver } from './receiver.js';

/** Where values are sent that each receiver sees. */
export abstract class Publisher extends Closable {
  /** @internal */
  _count = 0;
  /** @internal How many values have been sent. */
  _sent = 0;
  /** @internal */
  readonly _waiting = new Set<Subscriber<unknown, Publisher>>();

  /** @internal */
  constructor(options: NameOptions | undefined) {
    super(readLabel(options));
  }

  /** How many receivers there are: all that have been subscribed and not been closed. */
  get receivers(): number {
    return this._count;
  }

  /** @internal Something new is there for those who wait. */
  _serve(): void {
    for (const receiver of [...this._waiting]) receiver._serve();
  }

  /** @internal */
  _dismiss(reason: unknown): void {
    // If it is closed while something is being sent, those who are not served yet get that first.
    this._serve();
    for (const receiver of this._waiting) if (receiver.closed) receiver._dismiss(reason);
    this._waiting.clear();
  }

  /** Closes it: what `using` calls. */
  [dispose](): void {
    this.close();
  }
}

/** A receiver of what a broadcast or a watch is sent. */
export abstract class Subscriber<T, Source extends Publisher> extends Receiver<T> {
  /** @internal */
  readonly _source: Source;
  /** @internal How many had been sent when it took the latest that it has seen. */
  _seen: number;
  /** @internal Whether it has been closed itself: then it sees nothing any more. */
  _gone = false;

  /** @internal */
  constructor(source: Source) {
    super(source._label);
    this._source = source;
    this._seen = source._sent;
    source._count++;
  }

  /** Whether this receiver has been closed, or what it receives from. */
  override get closed(): boolean {
    this._ending ??= this._source._ending;
    return super.closed;
  }

  /** Ends this receiver alone, and those who wait on it: it receives nothing any more, also not what was sent before. */
  override close(reason?: unknown): void {
    if (!(this instanceof Subscriber)) throw detached('close');
    if (this._gone) return;
    this._gone = true;
    this._source._count--;
    super.close(reason);
    this._waits();
  }

  /** @internal */
  _has(): boolean {
    // Asks whether it is closed first, because that looks at what it receives from.
    return (!this.closed || !this._gone) && this._seen < this._source._sent;
  }

  /** @internal */
  override _waits(): void {
    const { _waiting } = this._source;
    if (this._receivers.length > 0) _waiting.add(this);
    else _waiting.delete(this);
  }

  /** @internal */
  _serve(): void {
    // More than once if something was sent while others were served.
    for (;;) {
      const waiter = firstOf(this._receivers);
      if (waiter === undefined || !this._has()) break;
      let value: T;
      try {
        value = this._take();
      } catch (reason) {
        // It was overtaken meanwhile.
        waiter.held?.delete(waiter);
        this._receivers.reject(reason, waiter);
        continue;
      }
      this._give(value, waiter);
    }
    this._waits();
  }
}
