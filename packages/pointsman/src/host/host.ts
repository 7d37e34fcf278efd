/** The store on one machine. */

import { isAbsolute } from 'node:path';
import type { StoreOptions } from '../shared/options.js';
import { BaseStore, type Store } from '../shared/store.js';
import { invalid } from '../sync/errors.js';
import { checkOptions } from '../sync/options.js';
import { HostConnection } from './connection.js';
import { HostLink } from './link.js';

/** Options for {@link host}. */
export interface HostOptions extends Omit<StoreOptions, 'namespace'> {
  /**
   * The folder in which processes meet: an absolute path on a file system of this machine, the same in all of them. It
   * is made if its parent exists. Default: one folder of the user, in `/dev/shm` on Linux, in `/tmp` on macOS.
   */
  readonly directory?: string | undefined;
}

const names: readonly string[] = ['ttl', 'name', 'directory'];

/**
 * Returns a store for the processes of one machine, for the primitives of `pointsman/shared`. It needs no Redis: one of
 * the processes serves the others, and another takes over when it ends, dies or is stopped.
 *
 * Processes meet if they run as the same user, with the same namespace and directory. The store connects with the first
 * request, and keeps the process alive until its last open primitive has closed.
 *
 * @param namespace A non-empty, well-formed string without braces, such as the name of the application.
 * @throws {TypeError | RangeError} if the namespace or an option is invalid.
 *
 * @example
 * ```ts
 * import { host } from 'pointsman/host';
 * import { SharedMutex } from 'pointsman/shared';
 *
 * const store = host('my-app');
 * const mutex = new SharedMutex(store);
 * console.log(await mutex.run('token.json', async () => 'refreshed')); // refreshed
 * await store.close();
 * ```
 */
export function host(namespace: string, options: HostOptions = {}): Store {
  checkOptions(options, names);
  const { directory, ttl, name } = options;
  if (
    directory !== undefined &&
    !(typeof directory === 'string' && isAbsolute(directory) && !directory.includes('\0'))
  ) {
    throw invalid('directory', directory, 'an absolute path');
  }
  const connections = new Map<string, HostConnection>();
  // `undefined` would be the default namespace.
  const given = { namespace: namespace ?? null, ttl, name } as StoreOptions;
  const store: BaseStore = new BaseStore((of, observer) => {
    const connection = connections.get(of) ?? new HostConnection(of, directory, store.ttl);
    connections.set(of, connection);
    return new HostLink(connection, observer, () => connections.delete(of));
  }, given);
  return store;
}
