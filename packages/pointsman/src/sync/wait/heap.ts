/**
 * A binary heap: the highest priority first, FIFO within a priority. Inserting and removing, also from the middle, take
 * logarithmic time.
 *
 * Invariant: each item stores its own index, and goes after its parent, the item at `(index - 1) >> 1`.
 */

/** An item of the heap. */
export interface Ranked {
  priority: number;
  /** Ascends with the order of arrival. */
  order: number;
  index: number;
}

const before = (a: Ranked, b: Ranked): boolean =>
  a.priority > b.priority || (a.priority === b.priority && a.order < b.order);

/** @internal */
export function insert<Item extends Ranked>(heap: Item[], item: Item): void {
  place(heap, item, heap.length);
}

/** @internal */
export function remove<Item extends Ranked>(heap: Item[], item: Item): void {
  const last = heap.pop() as Item;
  if (last !== item) place(heap, last, item.index);
}

/** Fills the free place at `start`: with the item, or with one that goes there and whose own place it gets. */
function place<Item extends Ranked>(heap: Item[], item: Item, start: number): void {
  let index = start;
  for (;;) {
    let other = index > 0 ? heap[(index - 1) >> 1] : undefined;
    if (!other || !before(item, other)) {
      const left = heap[2 * index + 1];
      const right = heap[2 * index + 2];
      other = left && right && before(right, left) ? right : left;
      if (!other || !before(other, item)) break;
    }
    const next = other.index;
    heap[index] = other;
    other.index = index;
    index = next;
  }
  heap[index] = item;
  item.index = index;
}
