/**
 * The common base of broadcast and watch: each receiver sees the sent values at its own pace.
 *
 * Invariant: a receiver references its publisher; the publisher references only the receivers that wait, and counts the
 * others. So a receiver that the program no longer references can be collected as garbage.
 */

import { Closable } from '../closable.js';
import { dispose } from '../dispose.js';
import { detached } from '../errors.js';
import { type NameOptions, readLabel } from '../wait/queue.js';
import { firstOf, Receiver } from './receiver.js';

/** The sending side of a {@link Broadcast} or a {@link Watch}. */
export abstract class Publisher extends Closable {
  /** @internal */
  _count = 0;
  /** @internal The number of values sent so far. */
  _sent = 0;
  /** @internal */
  readonly _waiting = new Set<Subscriber<unknown, Publisher>>();

  /** @internal */
  constructor(options: NameOptions | undefined) {
    super(readLabel(options));
  }

  /** The number of receivers that are subscribed and not closed. */
  get receivers(): number {
    return this._count;
  }

  /** @internal Serves the waiting receivers after a value was sent. */
  _serve(): void {
    for (const receiver of [...this._waiting]) receiver._serve();
  }

  /** @internal */
  _dismiss(reason: unknown): void {
    // If `close` is called while a value is being sent, the other receivers get that value first.
    this._serve();
    for (const receiver of this._waiting) if (receiver.closed) receiver._dismiss(reason);
    this._waiting.clear();
  }

  /** Calls {@link close}, for `using`. */
  [dispose](): void {
    this.close();
  }
}

/** A receiver of a broadcast or a watch. */
export abstract class Subscriber<T, Source extends Publisher> extends Receiver<T> {
  /** @internal */
  readonly _source: Source;
  /** @internal The publisher's count of sent values when this receiver took its latest value. */
  _seen: number;
  /** @internal Whether this receiver itself was closed. */
  _gone = false;

  /** @internal */
  constructor(source: Source) {
    super(source._label);
    this._source = source;
    this._seen = source._sent;
    source._count++;
  }

  /** Whether this receiver or its publisher is closed. */
  override get closed(): boolean {
    this._ending ??= this._source._ending;
    return super.closed;
  }

  /** Closes only this receiver, and rejects its waiting calls. It receives nothing more, not even values sent before. */
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
    // `closed` first: it also checks the publisher.
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
    // Several times if values were sent while other receivers were served.
    for (;;) {
      const waiter = firstOf(this._receivers);
      if (waiter === undefined || !this._has()) break;
      let value: T;
      try {
        value = this._take();
      } catch (reason) {
        // The receiver has lagged behind meanwhile.
        waiter.held?.delete(waiter);
        this._receivers.reject(reason, waiter);
        continue;
      }
      this._give(value, waiter);
    }
    this._waits();
  }
}
