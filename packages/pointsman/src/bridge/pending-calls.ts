/**
 * The asynchronous calls of one side that wait for a reply, by number. Also assigns the numbers of all calls.
 *
 * Invariants:
 * - Each call is settled once: by its reply, its signal, its timeout, or the end of the bridge.
 * - The lowest bits of a call's number are its slot. A number whose slot is occupied is skipped, so a lookup is one
 *   read. A `Map` is slower in the lab's row of 64 calls in flight: every few hundred calls it allocates a new table.
 */

import type { WaitOptions } from '../sync/options.js';
import { giveUpOn } from '../sync/wait/give-up.js';
import { timedOut } from '../transport/outcome.js';

interface Pending {
  readonly id: number;
  readonly name: string;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  readonly stop: (() => void) | undefined;
}

/** Numbers restart after this one. By then no reply to an early number is still in flight. */
const MAX_ID = 0x3fffffff;
const FIRST_SLOTS = 16;

export class PendingCalls {
  size = 0;
  #slots = new Array<Pending | undefined>(FIRST_SLOTS).fill(undefined);
  #lastId = 0;
  readonly #cancelled: (id: number) => void;

  /** `cancelled` is called when a signal or a timeout has cancelled call `id`. */
  constructor(cancelled: (id: number) => void) {
    this.#cancelled = cancelled;
  }

  nextId(): number {
    let id = this.#lastId;
    do id = id === MAX_ID ? 1 : id + 1;
    while (this.#slots[id & (this.#slots.length - 1)] !== undefined);
    this.#lastId = id;
    return id;
  }

  /** Returns the first of `count` consecutive numbers, for calls that are not added here. */
  nextIds(count: number): number {
    if (this.#lastId + count > MAX_ID) this.#lastId = 0;
    const first = this.#lastId + 1;
    this.#lastId += count;
    return first;
  }

  /** Adds a call. `id` is the last number that {@link nextId} returned. */
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
            this.#cancelled(id);
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

  /** Settles a call with its reply. The reply to a cancelled call is dropped. */
  settle(id: number, value: unknown, failed: boolean): void {
    const pending = this.#take(id);
    if (pending === undefined) return;
    pending.stop?.();
    if (failed) pending.reject(value);
    else pending.resolve(value);
  }

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
