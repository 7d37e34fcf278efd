import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The path of a lock file, which exists only while the key is locked. */
export function fileFor(key: string): string {
  return join(tmpdir(), encodeURIComponent(key));
}
