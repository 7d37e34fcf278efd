/**
 * The journal of a namespace: the changes that its server has made, in a file that outlives the process, not the boot.
 *
 * The file of one server, in the folder of the namespace, is named by its epoch, a number. It begins with a header and
 * a snapshot of the state; records follow. It is published by a hard link, with both complete, so that only one process
 * succeeds as the server of an epoch. The highest epoch is the current one; its file is never deleted.
 *
 * Invariant: what a server lets its clients know is in the journal that its successor reads. A successor first seals the
 * file, by making it read-only, and then reads it. The server first appends a record, then looks whether the file is
 * sealed, and only then replies. Both take the file's lock in the kernel, so either the successor finds the record or
 * the server finds the seal, also if the server was stopped anywhere between and does not know how long it slept.
 */

import {
  chmodSync,
  closeSync,
  fstatSync,
  ftruncateSync,
  futimesSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { randomName } from './names.js';

const WRITABLE = 0o200;
const LENGTH = 4;
/** Milliseconds after which an unused file is touched, because systems delete old files from temporary folders. */
const TOUCH_AFTER = 3_600_000;

export interface Recorded {
  /** The header, the snapshot, and what was appended. A last one that is not complete was never replied to. */
  readonly records: readonly Buffer[];
  /** Where the next record would begin. */
  readonly end: number;
}

const pathOf = (folder: string, epoch: number): string => `${folder}/${epoch}`;

/** The epochs that have a journal, ascending. */
export function epochsIn(folder: string): number[] {
  const names = readdirSync(folder).filter((name) => /^[1-9]\d{0,15}$/.test(name));
  return names.map(Number).sort((a, b) => a - b);
}

function framed(text: string): Buffer {
  const size = Buffer.byteLength(text);
  const buffer = Buffer.allocUnsafe(LENGTH + size);
  buffer.writeUInt32LE(size);
  buffer.write(text, LENGTH);
  return buffer;
}

/** Reads a journal, from the beginning or from the end of an earlier reading. */
export function readJournal(folder: string, epoch: number, from = 0): Recorded {
  const bytes = readFileSync(pathOf(folder, epoch));
  const records: Buffer[] = [];
  let at = from;
  while (at + LENGTH <= bytes.length) {
    const end = at + LENGTH + bytes.readUInt32LE(at);
    if (end > bytes.length) break;
    records.push(bytes.subarray(at + LENGTH, end));
    at = end;
  }
  return { records, end: at };
}

/** Stops the server of an epoch from replying to requests that are not in its journal yet. */
export function sealJournal(folder: string, epoch: number): void {
  chmodSync(pathOf(folder, epoch), 0o400);
}

export class Journal {
  readonly epoch: number;
  readonly #folder: string;
  readonly #file: number;
  #size: number;
  #touched = Date.now();

  private constructor(folder: string, epoch: number, file: number, size: number) {
    this.#folder = folder;
    this.epoch = epoch;
    this.#file = file;
    this.#size = size;
  }

  /**
   * Publishes the journal of an epoch. Returns undefined if there is one of this epoch or a later one. Then deletes the
   * earlier ones and their sockets, except the one at `address`.
   */
  static publish(
    folder: string,
    epoch: number,
    address: string,
    header: string,
    snapshot: string,
  ): Journal | undefined {
    const draft = `${folder}/${randomName(epoch)}.draft`;
    const file = openSync(draft, 'wx', 0o600);
    let published = false;
    try {
      const content = Buffer.concat([framed(header), framed(snapshot)]);
      writeAll(file, content, 0);
      try {
        linkSync(draft, pathOf(folder, epoch));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
        throw error;
      }
      // Its name may have been free only because a later server had deleted the earlier files. Its own was there first.
      if (epochsIn(folder).some((other) => other > epoch)) {
        remove(pathOf(folder, epoch));
        return undefined;
      }
      published = true;
      removeEarlier(folder, epoch, address);
      return new Journal(folder, epoch, file, content.length);
    } finally {
      remove(draft);
      if (!published) closeSync(file);
    }
  }

  get size(): number {
    return this.#size;
  }

  /** Appends all of the bytes or, if it throws, nothing. */
  append(bytes: Buffer): void {
    try {
      writeAll(this.#file, bytes, this.#size);
    } catch (error) {
      ftruncateSync(this.#file, this.#size);
      throw error;
    }
    this.#size += bytes.length;
  }

  /** Whether there is no successor and the file has not been deleted. Check it after `append` and before a reply. */
  get current(): boolean {
    const { mode, nlink } = fstatSync(this.#file);
    return (mode & WRITABLE) !== 0 && nlink > 0;
  }

  /** Updates the time of a journal that is not written to, so that it does not look old. */
  touch(): void {
    const now = Date.now();
    if (now - this.#touched < TOUCH_AFTER) return;
    this.#touched = now;
    futimesSync(this.#file, now / 1000, now / 1000);
  }

  /** Publishes the journal of the next epoch. Returns undefined if there is a successor. */
  next(address: string, header: string, snapshot: string): Journal | undefined {
    return Journal.publish(this.#folder, this.epoch + 1, address, header, snapshot);
  }

  close(): void {
    closeSync(this.#file);
  }
}

function writeAll(file: number, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(file, bytes, done, bytes.length - done, position + done);
  }
}

/** Deletes a file that may have been deleted already. */
export function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** Deletes what servers and candidates of earlier epochs have left. A candidate whose socket is deleted gives up. */
function removeEarlier(folder: string, epoch: number, address: string): void {
  for (const name of readdirSync(folder)) {
    const number = Number(/^([1-9]\d{0,15})(?:-\w+\.\w+)?$/.exec(name)?.[1]);
    if (number < epoch && name !== address) remove(`${folder}/${name}`);
  }
}
