/**
 * Records which promise waits for which, in private fields of the promises themselves. A `WeakMap` would cost twenty times
 * as much for each promise of the program.
 *
 * Invariant: a link lasts until the waiting promise's job runs, so it keeps no promise alive for longer.
 */

/** A base class whose constructor returns its argument, so that a derived class adds its fields to that object. */
class Given {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: explained above
    return object;
  }
}

class Link extends Given {
  /** The promise that waits for this one; null if there are several, or if its job has run. */
  #child: object | null | undefined;
  #parent: object | undefined;

  static of(promise: object): Link {
    return #child in promise ? (promise as Link) : new Link(promise);
  }

  static childOf(promise: object): object | null | undefined {
    return #child in promise ? promise.#child : undefined;
  }

  static setChild(promise: object, child: object | null | undefined): void {
    Link.of(promise).#child = child;
  }

  static link(promise: object, parent: object): void {
    const link = Link.of(parent);
    link.#child = link.#child === undefined ? promise : null;
    Link.of(promise).#parent = parent;
  }

  static unlink(promise: object): void {
    if (!(#child in promise) || promise.#parent === undefined) return;
    Link.of(promise.#parent).#child = null;
    promise.#parent = undefined;
  }
}

/** `childOf` returns the promise that waits for this one; null if there are several, or if its job has run. */
export const { childOf, link, setChild, unlink } = Link;
