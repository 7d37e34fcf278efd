/**
 * What both sides of a bridge know of each other without a message: whether it is closed, how long each
 * shall look for the other's next call, and for which thread each of them waits.
 */

const CLOSED = 0;
/** Of the host; the worker's follow. */
const THREAD = 2;
const WAITS_FOR = 4;
const LINGER = 6;
/** Bytes. */
export const CONTROL_SIZE = 64;

export type Role = 'host' | 'worker';

/** This thread, as other threads of the program know it. */
const thisThread = 1 + Math.floor(Math.random() * 0x7ffffffe);

/** Of all bridges of this thread: who blocks for one keeps the others waiting. */
const controls = new Set<Control>();

export class Control {
  readonly #words: Int32Array;
  readonly #mine: number;
  readonly #other: number;

  constructor(buffer: SharedArrayBuffer, role: Role) {
    this.#words = new Int32Array(buffer, 0, CONTROL_SIZE / 4);
    this.#mine = role === 'host' ? 0 : 1;
    this.#other = 1 - this.#mine;
    Atomics.store(this.#words, THREAD + this.#mine, thisThread);
    controls.add(this);
  }

  get isClosed(): boolean {
    return Atomics.load(this.#words, CLOSED) === 1;
  }

  close(): void {
    Atomics.store(this.#words, CLOSED, 1);
    controls.delete(this);
  }

  /** Microseconds that this side looks for the next call before it sleeps, as the caller has asked. */
  get lingering(): number {
    return Atomics.load(this.#words, LINGER + this.#mine);
  }

  /** Asks the other side to look so many microseconds. */
  linger(microseconds: number): void {
    Atomics.store(this.#words, LINGER + this.#other, microseconds);
  }

  /** This thread blocks until the other side answers. Its other bridges learn for whom they wait. */
  block(): void {
    if (controls.size > 1) this.#tellOthers(Atomics.load(this.#words, THREAD + this.#other));
  }

  unblock(): void {
    if (controls.size > 1) this.#tellOthers(0);
  }

  #tellOthers(thread: number): void {
    for (const control of controls) {
      if (control !== this) Atomics.store(control.#words, WAITS_FOR + control.#mine, thread);
    }
  }

  get otherWaitsForThis(): boolean {
    return Atomics.load(this.#words, WAITS_FOR + this.#other) === thisThread;
  }
}
