/**
 * A binary heap: the highest priority first, FIFO within a priority. Inserting and removing, also from the middle, take
 * logarithmic time.
 *
 * Invariant: each item stores its own index, and goes after its parent, the item at `(index - 1) >> 1`.
 */

/** An item of the heap. */
export interface Ranked {
  readonly priority: number;
  /** Ascends with the order of arrival. */
  order: number;
  index: number;
}

const before = (a: Ranked, b: Ranked): boolean =>
  a.priority > b.priority || (a.priority === b.priority && a.order < b.order);

function put(heap: Ranked[], item: Ranked, index: number): void {
  heap[index] = item;
  item.index = index;
}

/** Places an item at `start` or above; moves the ancestors that go after it down. */
function siftUp(heap: Ranked[], item: Ranked, start: number): void {
  let index = start;
  while (index > 0) {
    const above = (index - 1) >> 1;
    const parent = heap[above] as Ranked;
    if (!before(item, parent)) break;
    put(heap, parent, index);
    index = above;
  }
  put(heap, item, index);
}

/** @internal */
export function insert<Item extends Ranked>(heap: Item[], item: Item): void {
  siftUp(heap, item, heap.length);
}

/** @internal */
export function remove<Item extends Ranked>(heap: Item[], item: Item): void {
  const last = heap.pop() as Item;
  if (last === item) return;
  let { index } = item;
  for (;;) {
    const left = 2 * index + 1;
    const right = left + 1;
    let child = heap[left];
    if (!child) break;
    const other = heap[right];
    if (other && before(other, child)) child = other;
    if (!before(child, last)) break;
    const next = child.index;
    put(heap, child, index);
    index = next;
  }
  siftUp(heap, last, index);
}
