/**
 * The calls of one side that wait for an answer without blocking, by number. It also gives all calls their
 * numbers.
 *
 * Invariants:
 * - Each call is settled once: by its answer, by its signal or timeout, or by the end of the bridge.
 * - A call lies in the slot that the lowest bits of its number say. Numbers whose slot is taken are left out,
 *   so nothing is ever looked for. A `Map` in its place loses the row of 64 calls in flight: it begins a new
 *   table every few hundred calls, which an old one keeps alive for the garbage collector.
 */

import type { WaitOptions } from '../sync/options.js';
import { giveUpOn } from '../sync/wait/give-up.js';
import { timedOut } from '../transport/outcome.js';

interface Pending {
  readonly id: number;
  readonly name: string;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  /** Stops watching its signal and its timeout, if it has any. */
  readonly stop: (() => void) | undefined;
}

/** Then numbers begin anew: no answer to one of the first is on its way any more. */
const MAX_ID = 0x3fffffff;
/** Slots at first, a power of two. */
const FIRST_SLOTS = 16;

export class PendingCalls {
  size = 0;
  #slots = new Array<Pending | undefined>(FIRST_SLOTS).fill(undefined);
  #lastId = 0;
  readonly #givenUp: (id: number) => void;

  /** `givenUp`: nobody waits for call `id` any more. */
  constructor(givenUp: (id: number) => void) {
    this.#givenUp = givenUp;
  }

  /** The number of the next call. */
  nextId(): number {
    let id = this.#lastId;
    do id = id === MAX_ID ? 1 : id + 1;
    while (this.#slots[id & (this.#slots.length - 1)] !== undefined);
    this.#lastId = id;
    return id;
  }

  /** The first of so many numbers that follow each other, for calls that are not added here. */
  nextIds(count: number): number {
    if (this.#lastId + count > MAX_ID) this.#lastId = 0;
    const first = this.#lastId + 1;
    this.#lastId += count;
    return first;
  }

  /** `id` is the last that {@link nextId} has given. */
  add(
    id: number,
    name: string,
    options: WaitOptions | undefined,
    resolve: Pending['resolve'],
    reject: Pending['reject'],
  ): void {
    const isLimited = options?.signal !== undefined || options?.timeout !== undefined;
    const stop = isLimited
      ? giveUpOn(
          options,
          (reason) => {
            this.#take(id);
            this.#givenUp(id);
            reject(reason);
          },
          (timeout) => timedOut(name, timeout),
        )
      : undefined;
    this.#slots[id & (this.#slots.length - 1)] = { id, name, resolve, reject, stop };
    this.size++;
    if (2 * this.size > this.#slots.length) this.#grow();
  }

  #take(id: number): Pending | undefined {
    const slot = id & (this.#slots.length - 1);
    const pending = this.#slots[slot];
    if (pending?.id !== id) return undefined;
    this.#slots[slot] = undefined;
    this.size--;
    return pending;
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Array<Pending | undefined>(2 * before.length).fill(undefined);
    for (const pending of before) {
      if (pending) this.#slots[pending.id & (this.#slots.length - 1)] = pending;
    }
  }

  /** An answer has come. One that nobody waits for is dropped. */
  settle(id: number, value: unknown, failed: boolean): void {
    const pending = this.#take(id);
    if (pending === undefined) return;
    pending.stop?.();
    if (failed) pending.reject(value);
    else pending.resolve(value);
  }

  /** There will be no answers. */
  rejectAll(error: (name: string) => unknown): void {
    const slots = this.#slots;
    this.#slots = new Array<Pending | undefined>(FIRST_SLOTS).fill(undefined);
    this.size = 0;
    for (const pending of slots) {
      pending?.stop?.();
      pending?.reject(error(pending.name));
    }
  }
}
