/**
 * What the event loops of a cell and the one that directs them have in common.
 *
 * Each loop is a worker thread with its own event loop, its own copy of the subject and its own
 * connections: to the server and to the subject it is a process of its own. The threads share
 * memory, which makes a judge who knows at once and costs nothing.
 */
import type { Address } from '../subject.js';

export const mostLoops = 4;
export const tasksPerLoop = 10;

/** One run: what each loop does until it is stopped. */
export interface Setting {
  readonly loops: number;
  readonly keySet: string;
  /** Each task pauses so long before it asks, and stays inside so long. */
  readonly pauseMilliseconds: number;
}

export const settings: readonly Setting[] = [0, 1].flatMap((pauseMilliseconds) =>
  [2, 4].flatMap((loops) => ['1/1', '5/9'].map((keySet) => ({ loops, keySet, pauseMilliseconds }))),
);

export function nameOf({ loops, keySet, pauseMilliseconds }: Setting): string {
  return `${loops} loops, ${keySet}${pauseMilliseconds === 0 ? '' : ', 1 ms inside and out'}`;
}

export interface LoopData {
  readonly subject: string;
  readonly address: Address;
  readonly index: number;
  readonly board: SharedArrayBuffer;
}

export interface Order {
  readonly setting: Setting;
  readonly judge: SharedArrayBuffer;
}

export interface LoopReport {
  /** Of the turns that began after the measuring did; in milliseconds. */
  readonly waits: Float64Array;
  /** Commands sent in the whole run. */
  readonly sent: number;
}

/** What all loops see: whether to go on, and how many turns each has taken. */
export class Board {
  readonly #cells: Int32Array;

  constructor(
    memory: SharedArrayBuffer = new SharedArrayBuffer(
      (1 + mostLoops) * Int32Array.BYTES_PER_ELEMENT,
    ),
  ) {
    this.#cells = new Int32Array(memory);
  }

  get memory(): SharedArrayBuffer {
    return this.#cells.buffer as SharedArrayBuffer;
  }

  get phase(): number {
    return Atomics.load(this.#cells, 0);
  }

  set phase(phase: number) {
    Atomics.store(this.#cells, 0, phase);
  }

  countTurn(loop: number): void {
    Atomics.add(this.#cells, 1 + loop, 1);
  }

  turns(): number[] {
    return Array.from({ length: mostLoops }, (_, loop) => Atomics.load(this.#cells, 1 + loop));
  }
}

export const phases = { warmUp: 0, measure: 1, stop: 2 } as const;
