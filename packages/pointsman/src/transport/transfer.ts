/** Values that move to the other thread instead of being copied. */

/** The same in all copies of the package that a thread has loaded. No message can carry a symbol. */
const moved = Symbol.for('pointsman.transfer');

/** An object that structured clone can transfer: a buffer (not a view of one), a port, a stream, a bitmap. */
export type Transferable = object & { readonly buffer?: never };

/** A value that will be moved; made by {@link transfer}. */
export interface Transferred<T> {
  readonly [moved]: true;
  readonly value: T;
  readonly list: readonly Transferable[];
  readonly isCopy: boolean;
}

class Moved<T> implements Transferred<T> {
  readonly [moved] = true as const;
  readonly value: T;
  readonly list: readonly Transferable[];
  /** Whether the moved parts are copies, so that the caller loses nothing. */
  readonly isCopy: boolean;

  constructor(value: T, list: readonly Transferable[], isCopy: boolean) {
    this.value = value;
    this.list = list;
    this.isCopy = isCopy;
  }
}

/**
 * Marks `value` for transfer: it is sent by structured clone, and the parts of it in `list` (array buffers, ports,
 * bitmaps, streams) move to the other thread. They cannot be used in this thread afterwards.
 *
 * Use it for an argument, a result, or a part of one. A result for a browser worker that blocks is copied instead,
 * if it can be: no message reaches a blocked worker.
 *
 * ```js
 * const { port1, port2 } = new MessageChannel();
 * host.attach(transfer(port2, [port2]));
 * ```
 */
export function transfer<T>(value: T, list: readonly Transferable[]): Transferred<T> {
  return new Moved(value, [...list], false);
}

/** As {@link transfer}, for a copy of the user's value. */
export function transferCopy<T>(value: T, list: readonly Transferable[]): Transferred<T> {
  return new Moved(value, list, true);
}

export function isTransferred(value: unknown): value is Transferred<unknown> {
  return (value as Partial<Transferred<unknown>> | null | undefined)?.[moved] === true;
}
