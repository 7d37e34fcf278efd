/**
 * A line of those who wait, first come, first served; whoever is in it can leave from the middle in one step.
 *
 * The places lie in chunks that are linked: a place costs one field, so that a crowd costs little more than its
 * promises, and nothing is ever moved. Invariant: a chunk between the first and the last has somebody in it, so that
 * the line takes memory for those who are in it and not for those who left.
 */

const SIZE = 16;

interface Chunk<Item> {
  readonly places: (Item | undefined)[];
  next: Chunk<Item> | undefined;
  previous: Chunk<Item> | undefined;
  /** How many have left from their places. Not counted: who was taken out at the front. */
  left: number;
}

/** Where somebody stands who may leave. */
export interface Place {
  chunk: unknown;
  index: number;
}

/** @internal */
export class Line<Item> {
  length = 0;
  first: Chunk<Item> | undefined;
  #last: Chunk<Item> | undefined;
  /** The place in the first chunk at which the front is searched. */
  #head = 0;
  /** The next free place in the last chunk. */
  #tail = SIZE;

  get front(): Item | undefined {
    if (this.length === 0) return undefined;
    for (;;) {
      const item = (this.first as Chunk<Item>).places[this.#head];
      if (item !== undefined) return item;
      this.#advance();
    }
  }

  push(item: Item): void {
    if (this.#tail === SIZE) this.#grow();
    (this.#last as Chunk<Item>).places[this.#tail++] = item;
    this.length++;
  }

  /** As `push`, for somebody who is told the place to leave from. */
  add(item: Item & Place): void {
    this.push(item);
    item.chunk = this.#last;
    item.index = this.#tail - 1;
  }

  /** Takes the front out. */
  shift(): void {
    (this.first as Chunk<Item>).places[this.#head] = undefined;
    if (--this.length === 0) this.#reset();
    else this.#advance();
  }

  remove(place: Place): void {
    const chunk = place.chunk as Chunk<Item>;
    chunk.places[place.index] = undefined;
    chunk.left++;
    if (--this.length === 0) {
      this.#reset();
    } else if (chunk.left === SIZE && chunk.previous && chunk.next) {
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

  /** Makes room at the end. */
  #grow(): void {
    this.#tail = 0;
    const last = this.#last;
    if (last?.left === SIZE) {
      last.left = 0;
      return;
    }
    const chunk: Chunk<Item> = {
      places: new Array(SIZE),
      next: undefined,
      previous: last,
      left: 0,
    };
    if (last) last.next = chunk;
    else this.first = chunk;
    this.#last = chunk;
  }

  /** One chunk stays, for those who come next. */
  #reset(): void {
    const last = this.#last as Chunk<Item>;
    last.previous = undefined;
    last.left = 0;
    this.first = last;
    this.#head = 0;
    this.#tail = 0;
  }
}
