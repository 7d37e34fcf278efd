/**
 * The judge of several processes: they count in one file, which the system keeps in memory.
 *
 * Invariant: at its begin a turn reads whether another is running, and the number of turns; at its end it writes that
 * number plus one. Two concurrent turns see each other, or one update is lost and the file has too few turns.
 */
import { closeSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs';

const inside = 0;
const turns = 1;

export class FileJudge {
  readonly #file: number;
  readonly #cells = new Int32Array(2);
  /** Turns that began during another, as observed by this process. */
  intruders = 0;

  /** Creates the file for a run. */
  static prepare(path: string): void {
    writeFileSync(path, new Int32Array(2));
  }

  constructor(path: string) {
    this.#file = openSync(path, 'r+');
  }

  async turn(work: (() => PromiseLike<unknown>) | undefined): Promise<void> {
    const count = this.turns;
    if (this.#cells[inside] !== 0) this.intruders++;
    this.#write(1, count);
    await work?.();
    this.#write(0, count + 1);
  }

  get turns(): number {
    readSync(this.#file, this.#cells, 0, this.#cells.byteLength, 0);
    return this.#cells[turns] as number;
  }

  #write(insideNow: number, turnsNow: number): void {
    this.#cells[inside] = insideNow;
    this.#cells[turns] = turnsNow;
    writeSync(this.#file, this.#cells, 0, this.#cells.byteLength, 0);
  }

  close(): void {
    closeSync(this.#file);
  }
}
