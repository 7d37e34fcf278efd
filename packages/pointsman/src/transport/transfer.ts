/**
 * Values that move to the other thread instead of being copied.
 */

const moved = Symbol('pointsman.transfer');

/** What structured clone can move: a buffer, but no view of one, a port, a stream, a bitmap. */
export type Transferable = object & { readonly buffer?: never };

/** What {@link transfer} returns: stands for a value that will be moved. */
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
  /** Whether what moves was made for that: nobody has lost anything by it. */
  readonly isCopy: boolean;

  constructor(value: T, list: readonly Transferable[], isCopy: boolean) {
    this.value = value;
    this.list = list;
    this.isCopy = isCopy;
  }
}

/**
 * Hands `value` over to the other thread by structured clone, with the parts of it in `list` (array
 * buffers, ports, bitmaps, streams) moved: afterwards they cannot be used here any more.
 *
 * For an argument, a result, or a part of one. A result cannot be moved to a browser's worker that
 * blocks, since no message reaches it: there it is copied if it can be.
 *
 * ```js
 * const { port1, port2 } = new MessageChannel();
 * host.attach(transfer(port2, [port2]));
 * ```
 */
export function transfer<T>(value: T, list: readonly Transferable[]): Transferred<T> {
  return new Moved(value, [...list], false);
}

/** The same for a copy of the user's value. */
export function transferCopy<T>(value: T, list: readonly Transferable[]): Transferred<T> {
  return new Moved(value, list, true);
}

export function isTransferred(value: unknown): value is Transferred<unknown> {
  return value instanceof Moved;
}
