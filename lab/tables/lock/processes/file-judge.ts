/**
 * The judge of several processes: they count in one file, kept in memory by the system.
 *
 * Invariant: whoever comes in reads whether another is inside, and how many turns there were; whoever
 * goes out writes that number, and one more. Two that are inside together see each other, or one
 * update is lost: the file then tells of too few turns.
 */
import { closeSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs';

const inside = 0;
const turns = 1;

export class FileJudge {
  readonly #file: number;
  readonly #cells = new Int32Array(2);
  /** Turns that began while another was inside, as seen from here. */
  intruders = 0;

  /** The file of a run in which nobody was inside yet. */
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
