/** Pointsman's primitives, on Redis with either client library or on one machine. */
import {
  Leader,
  type SharedGuard,
  SharedMutex,
  SharedRwLock,
  SharedSemaphore,
  type Store,
} from 'pointsman/shared';
import { open } from './store.js';
import { type Lock, permits, type Setting, type Waiting } from './subject.js';

export default async function openLock(setting: Setting): Promise<Lock> {
  const { store, end } = await open(setting);
  const lock = primitiveOn(store, setting);
  return {
    ...lock,
    async close() {
      await lock.close();
      end();
    },
  };
}

function primitiveOn(store: Store, { primitive, mode }: Setting): Lock {
  switch (primitive) {
    case 'mutex': {
      const mutex = new SharedMutex(store, { mode });
      return {
        lock: (keys, { timeout, signal } = {}) => mutex.lock(keys, { timeout, signal }),
        query: () => mutex.query(),
        close: () => mutex.close(),
      };
    }
    case 'rwlock': {
      const lock = new SharedRwLock(store);
      return {
        lock: (keys, { share, timeout, signal } = {}) =>
          lock[share === undefined ? 'write' : 'read'](keys, { timeout, signal }),
        downgrade: (guard) => lock.downgrade(guard as SharedGuard),
        query: () => lock.query(),
        close: () => lock.close(),
      };
    }
    case 'semaphore': {
      const semaphore = new SharedSemaphore(store, permits);
      return {
        lock: (keys, { share, timeout, signal } = {}) =>
          semaphore.acquire(keys, { weight: share?.weight, timeout, signal }),
        query: () => semaphore.query(),
        close: () => semaphore.close(),
      };
    }
    case 'leader':
      return leaders(store);
  }
}

/** The first key is the name of the election. */
function leaders(store: Store): Lock {
  const all = new Map<string, Leader>();
  const of = (election = '0-0') => {
    const leader = all.get(election) ?? new Leader(store, election);
    all.set(election, leader);
    return leader;
  };
  return {
    async lock(keys, { timeout, signal } = {}) {
      const leader = of(keys[0]);
      const term = await leader.campaign({ timeout, signal });
      return {
        token: term.token,
        // Each read of the guard's signal may end the guard, so only the client reads it.
        get signal() {
          return term.signal;
        },
        get valid() {
          return term.valid;
        },
        release: () => leader.resign(),
      };
    },
    async query() {
      const { held, waiting } = await of().query();
      const named = <L extends Waiting>(locks: readonly L[]) =>
        locks.map((lock) => ({
          ...lock,
          keys: lock.keys.map((key) => key.slice('leader:'.length)),
        }));
      return { held: named(held), waiting: named(waiting) };
    },
    async close() {
      await Promise.all([...all.values()].map((leader) => leader.close()));
    },
  };
}
