/**
 * Which promise waits for which. Private fields on the promises themselves, which nobody else can see: with a `WeakMap` each
 * promise that a program makes would cost twenty times as much.
 *
 * Invariant: a link lasts until the one that waits runs, so that no promise keeps another alive for longer than that.
 */

/** A constructor that returns what it is given, so that the fields of what extends it are put on that. */
class Given {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: explained above
    return object;
  }
}

class Link extends Given {
  /** The one that waits for it; null if there are several, or if that has run. */
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

/** The promise that waits for this one; null if there are several or there was one. */
export const { childOf, link, setChild, unlink } = Link;
