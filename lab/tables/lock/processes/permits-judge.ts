/**
 * The judge of a semaphore's turns in several processes: each task has a byte of one file, which the system keeps in
 * memory, and sets it while its turn runs.
 *
 * Invariant: if more turns run at once than there are permits, the one that began last reads that, because it sets its
 * byte before it reads.
 */
import { closeSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs';

const inside = Uint8Array.of(1);
const outside = Uint8Array.of(0);

export class PermitsJudge {
  readonly #file: number;
  readonly #all: Uint8Array;
  readonly #permits: number;
  /** Turns that began while all permits were in use, as observed by this process. */
  intruders = 0;

  /** Creates the file for a run. */
  static prepare(path: string, tasks: number): void {
    writeFileSync(path, new Uint8Array(tasks));
  }

  constructor(path: string, tasks: number, permits: number) {
    this.#file = openSync(path, 'r+');
    this.#all = new Uint8Array(tasks);
    this.#permits = permits;
  }

  async turn(task: number, work: (() => PromiseLike<unknown>) | undefined): Promise<void> {
    writeSync(this.#file, inside, 0, 1, task);
    readSync(this.#file, this.#all, 0, this.#all.byteLength, 0);
    const running = this.#all.reduce((sum, one) => sum + one, 0);
    if (running > this.#permits) this.intruders++;
    await work?.();
    writeSync(this.#file, outside, 0, 1, task);
  }

  close(): void {
    closeSync(this.#file);
  }
}
