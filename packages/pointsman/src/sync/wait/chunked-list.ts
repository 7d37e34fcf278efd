/**
 * A FIFO list from whose middle an item can be removed in constant time.
 *
 * Items lie in linked chunks: each takes one field, and none is ever moved.
 *
 * Invariant: each chunk between the first and the last contains an item. So the memory in use depends on the items in
 * the list and not on those that were removed.
 */

const SIZE = 16;

interface Chunk<Item> {
  readonly items: (Item | undefined)[];
  next: Chunk<Item> | undefined;
  previous: Chunk<Item> | undefined;
  /** The number of items that were removed by `remove`. */
  removed: number;
}

/** Where an item is, for an item that may be removed from the middle. */
export interface Position {
  chunk: unknown;
  index: number;
}

/** @internal */
export class ChunkedList<Item> {
  length = 0;
  /** @internal */
  first: Chunk<Item> | undefined;
  #last: Chunk<Item> | undefined;
  /** The index in the first chunk at which the search for the front begins. */
  #head = 0;
  /** The next free index in the last chunk. */
  #tail = SIZE;

  get front(): Item | undefined {
    if (this.length === 0) return undefined;
    for (;;) {
      const item = (this.first as Chunk<Item>).items[this.#head];
      if (item !== undefined) return item;
      this.#advance();
    }
  }

  push(item: Item): void {
    if (this.#tail === SIZE) this.#grow();
    (this.#last as Chunk<Item>).items[this.#tail++] = item;
    this.length++;
  }

  /** Pushes an item and stores its position in it, for `remove`. */
  add(item: Item & Position): void {
    this.push(item);
    item.chunk = this.#last;
    item.index = this.#tail - 1;
  }

  /** Removes the item that `front` has just returned. */
  shift(): void {
    (this.first as Chunk<Item>).items[this.#head] = undefined;
    if (--this.length === 0) this.#reset();
    else this.#advance();
  }

  remove(position: Position): void {
    const chunk = position.chunk as Chunk<Item>;
    chunk.items[position.index] = undefined;
    chunk.removed++;
    if (--this.length === 0) {
      this.#reset();
    } else if (chunk.removed === SIZE && chunk.previous && chunk.next) {
      chunk.previous.next = chunk.next;
      chunk.next.previous = chunk.previous;
    }
  }

  #advance(): void {
    if (++this.#head < SIZE) return;
    const first = this.first?.next as Chunk<Item>;
    first.previous = undefined;
    this.first = first;
    this.#head = 0;
  }

  #grow(): void {
    this.#tail = 0;
    const last = this.#last;
    if (last?.removed === SIZE) {
      last.removed = 0;
      return;
    }
    const chunk: Chunk<Item> = {
      items: new Array(SIZE),
      next: undefined,
      previous: last,
      removed: 0,
    };
    if (last) last.next = chunk;
    else this.first = chunk;
    this.#last = chunk;
  }

  /** Keeps one chunk of an empty list, to be filled again. */
  #reset(): void {
    const last = this.#last as Chunk<Item>;
    last.previous = undefined;
    last.removed = 0;
    this.first = last;
    this.#head = 0;
    this.#tail = 0;
  }
}

/** @internal Returns the items for which `matches` holds, from front to back. Apart, for bundles that do not need it. */
export function filter<Item>(list: ChunkedList<Item>, matches: (item: Item) => unknown): Item[] {
  const found: Item[] = [];
  for (let chunk = list.first; chunk !== undefined; chunk = chunk.next) {
    for (const item of chunk.items) if (item !== undefined && matches(item)) found.push(item);
  }
  return found;
}
