/**
 * The folder of a namespace.
 *
 * Invariant: only the user of this process can reach what is in it. The folder belongs to the user and is closed to all
 * others, and no other user can replace it.
 */

import {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { StoreError } from '../shared/errors.js';
import { defaultDirectory, folderNameOf, socketPath } from './names.js';

/** File systems that several machines may share, by the number that Linux gives them. */
const REMOTE: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
  [0x01161970, 'GFS2'],
  [0x7461636f, 'OCFS2'],
  [0x65735546, 'FUSE'],
]);

const OTHERS_WRITE = 0o022;
const OTHERS = 0o077;
const STICKY = 0o1000;

function refuse(path: string, why: string): never {
  throw new StoreError(`the folder ${path} cannot hold locks: ${why}`);
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function check(directory: string, folder: string): void {
  const user = process.getuid?.();
  if (user === undefined) return;
  const parent = statSync(directory);
  if ((parent.uid !== user && parent.uid !== 0) || unsafe(parent.mode)) {
    refuse(directory, 'other users can replace what is in it');
  }
  const { uid, mode } = lstatSync(folder);
  if (uid !== user) refuse(folder, `it belongs to user ${uid}, and this process runs as ${user}`);
  if ((mode & OTHERS) !== 0) refuse(folder, `its mode is ${(mode & 0o777).toString(8)}, not 700`);
}

const unsafe = (mode: number): boolean => (mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0;

export class Place {
  readonly folder: string;
  /** The open folder, by which Linux reaches a socket whose path is too long. */
  readonly #handle: number | undefined;

  private constructor(folder: string, handle: number | undefined) {
    this.folder = folder;
    this.#handle = handle;
  }

  /** Opens the folder, and makes it if there is none. @throws {StoreError} if it cannot be used. */
  static open(namespace: string, given: string | undefined): Place {
    const wanted = given ?? defaultDirectory();
    try {
      makeFolder(wanted);
      const directory = realpathSync(wanted);
      const kind = REMOTE.get(statfsSync(directory).type);
      if (kind !== undefined) refuse(directory, `${kind} may be shared with other machines`);
      const folder = `${directory}/${folderNameOf(namespace)}`;
      makeFolder(folder);
      check(directory, folder);
      if (socketPath(folder, 'x'.repeat(40)) !== undefined) return new Place(folder, undefined);
      if (process.platform !== 'linux') refuse(folder, 'its path is too long for a socket');
      return new Place(folder, openSync(folder, 'r'));
    } catch (error) {
      if (error instanceof StoreError) throw error;
      const { message } = error as Error;
      throw new StoreError(`the folder ${wanted} cannot hold locks: ${message}`, { cause: error });
    }
  }

  pathOf(address: string): string {
    return socketPath(this.folder, address) ?? `/proc/self/fd/${this.#handle}/${address}`;
  }

  close(): void {
    if (this.#handle !== undefined) closeSync(this.#handle);
  }
}
