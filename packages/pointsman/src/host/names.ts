/** Names of files, sockets and pipes. */

import { createHash, randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';

const onWindows = process.platform === 'win32';

/**
 * The default directory: the same for all processes of a user. So outside Windows it depends on no environment variable,
 * which a service or a job may lack, and on Linux it is not the temporary folder, because a service may have its own.
 */
export function defaultDirectory(): string {
  if (onWindows) return `${tmpdir()}\\pointsman`;
  const parent = process.platform === 'linux' ? '/dev/shm' : '/tmp';
  return `${parent}/pointsman-${process.getuid?.() ?? 'user'}`;
}

/** The name of a namespace's folder: a hash, because the path of a socket is short and a namespace has any characters. */
export const folderNameOf = (namespace: string): string =>
  createHash('sha256').update(namespace).digest('hex').slice(0, 24);

/** A name that no other process uses, of the epoch for which it is meant. */
export const randomName = (epoch: number): string => `${epoch}-${randomBytes(6).toString('hex')}`;

/** The address of a server: the name of its socket in the folder, or of a pipe. */
export const newAddress = (epoch: number): string =>
  onWindows ? `\\\\.\\pipe\\pointsman-${randomName(epoch)}` : `${randomName(epoch)}.socket`;

/** The longest path of a socket in bytes, with the zero at its end. */
const LONGEST_PATH = process.platform === 'linux' ? 108 : 104;

/** The path of an address, or undefined if it is too long for the system. */
export function socketPath(folder: string, address: string): string | undefined {
  if (onWindows) return address;
  const path = `${folder}/${address}`;
  return Buffer.byteLength(path) < LONGEST_PATH ? path : undefined;
}
