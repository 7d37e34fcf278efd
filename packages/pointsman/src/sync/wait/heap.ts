/**
 * Those who wait with a priority of their own: the highest first, equals in the order in which they came. A binary
 * heap, so that to come, to be served and to leave take logarithmic time, however many priorities there are.
 *
 * Invariant: each is at the index that it knows, and goes after the one at half of it.
 */

/** What stands in the heap. */
export interface Ranked {
  readonly priority: number;
  /** Which of its priority came when. */
  order: number;
  index: number;
}

const before = (a: Ranked, b: Ranked): boolean =>
  a.priority > b.priority || (a.priority === b.priority && a.order < b.order);

function put(heap: Ranked[], item: Ranked, index: number): void {
  heap[index] = item;
  item.index = index;
}

/** Moves those who go after it down until it has its place at `index` or above. */
function rise(heap: Ranked[], item: Ranked, start: number): void {
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

/** @internal Adds to the heap. */
export function insert<Item extends Ranked>(heap: Item[], item: Item): void {
  rise(heap, item, heap.length);
}

/** @internal Takes out of the heap, from wherever it is. */
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
  rise(heap, last, index);
}
