/** Locks between the processes of one machine, without a server. Each turn locks one key. */
import { promisify } from 'node:util';
import directory from '../floors/directory.js';
import { defineSubject } from '../subject.js';
import { fileFor } from './files.js';

const pollMilliseconds = 1;
const staleMilliseconds = 10_000;
/** Longer than any run. */
const patienceMilliseconds = 600_000;

const pointsman = defineSubject({
  name: 'pointsman host',
  role: 'ours',
  package: 'pointsman',
  note: 'Its SharedMutex with the store `host`, with defaults: while no other process waits, the tasks of one process hand the lock to each other.',
  async connect(_, namespace) {
    const { host } = await import('pointsman/host');
    const { SharedMutex } = await import('pointsman/shared');
    const mutex = new SharedMutex(host(namespace));
    return {
      lock: (keys) => mutex.lock(keys),
      unlock: (held) => held.release(),
      close: () => mutex.close(),
    };
  },
});

const properLockfile = defineSubject({
  name: 'proper-lockfile, 1 ms retries',
  role: 'peer',
  package: 'proper-lockfile',
  note: 'Retries after 1 ms, without a limit. A directory is the lock.',
  async connect() {
    const { default: lockfile } = await import('proper-lockfile');
    const retries = {
      forever: true,
      factor: 1,
      minTimeout: pollMilliseconds,
      maxTimeout: pollMilliseconds,
    };
    return {
      lock: ([key = '']) => lockfile.lock(fileFor(key), { realpath: false, retries }),
      unlock: (release) => release(),
      close: async () => {},
    };
  },
});

const lockfile = defineSubject({
  name: 'lockfile, 1 ms retries',
  role: 'peer',
  package: 'lockfile',
  note: 'Retries after 1 ms. Its lock is stale 10 s after its creation, also while it is held.',
  async connect() {
    const { default: library } = await import('lockfile');
    const lock = promisify<string, object>(library.lock);
    const unlock = promisify(library.unlock);
    const options = {
      wait: patienceMilliseconds,
      pollPeriod: pollMilliseconds,
      stale: staleMilliseconds,
    };
    return {
      async lock([key = '']) {
        const path = fileFor(key);
        await lock(path, options);
        return path;
      },
      unlock: (path) => unlock(path),
      close: async () => {},
    };
  },
});

/** In the order of the report. */
export const hostLocks = [pointsman, properLockfile, lockfile, directory];
