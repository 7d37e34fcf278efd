/**
 * A binary heap of those priority levels of a queue that have tasks. Inserting, removing and moving an item take time
 * logarithmic in the number of levels.
 *
 * Invariant: each item stores its own index, and no item goes before its parent. The queue calls
 * {@link LevelHeap.update} after every change that may affect the order.
 */

export type Order = 'byTurn' | 'byPriority';

/** An item stores its index in each heap that it is in. */
export interface Placed {
  readonly places: Record<Order, number>;
}

export class LevelHeap<Item extends Placed> {
  readonly #order: Order;
  readonly #isBefore: (item: Item, other: Item) => boolean;
  readonly #items: Item[] = [];

  constructor(order: Order, isBefore: (item: Item, other: Item) => boolean) {
    this.#order = order;
    this.#isBefore = isBefore;
  }

  get first(): Item | undefined {
    return this.#items[0];
  }

  insert(item: Item): void {
    this.#rise(item, this.#items.length);
  }

  remove(item: Item): void {
    const last = this.#items.pop() as Item;
    if (last === item) return;
    this.#put(last, item.places[this.#order]);
    this.update(last);
  }

  /** Moves an item to its place after its order has changed. */
  update(item: Item): void {
    if (this.#items.length === 1) return;
    this.#rise(item, this.#sink(item));
  }

  #put(item: Item, index: number): void {
    this.#items[index] = item;
    item.places[this.#order] = index;
  }

  #rise(item: Item, start: number): void {
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = this.#items[parent] as Item;
      if (!this.#isBefore(item, above)) break;
      this.#put(above, index);
      index = parent;
    }
    this.#put(item, index);
  }

  /** Moves up the children that go before the item; returns the index that becomes free for it. */
  #sink(item: Item): number {
    const items = this.#items;
    let index = item.places[this.#order];
    for (;;) {
      let child = 2 * index + 1;
      if (child >= items.length) return index;
      const [left, right] = [items[child] as Item, items[child + 1]];
      if (right !== undefined && this.#isBefore(right, left)) child++;
      const below = items[child] as Item;
      if (!this.#isBefore(below, item)) return index;
      this.#put(below, index);
      index = child;
    }
  }
}
