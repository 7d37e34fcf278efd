/** `pointsman` as an implementation that the scenarios of `spec/` can be played on. */
import { type Capability, type Implementation, nextMacrotask, type Subject } from '@pointsman/spec';
import {
  ClosedError,
  KeyedMutex,
  KeyedSemaphore,
  Mutex,
  ReentrancyError,
  Semaphore,
  TimeoutError,
} from 'pointsman';
import { vi } from 'vitest';

const capabilities: readonly Capability[] = [
  'permits',
  'priority',
  'timeout',
  'signal',
  'try',
  'close',
  'drain',
  'resize',
  'reason',
  'owner',
  'bounded',
  'loose-numbers',
  'release-again',
];

/** Its clock is vitest's: call `vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })`. */
export const inOneLoop: Implementation = {
  name: 'sync',
  capabilities: new Set(capabilities),
  create(primitive, { limit = 1 }): Subject {
    switch (primitive) {
      case 'semaphore':
        return semaphore(new Semaphore(limit));
      case 'mutex':
        return mutex(new Mutex());
      case 'keyed-semaphore':
        return keyedSemaphore(new KeyedSemaphore<string>(limit));
      case 'keyed-mutex':
        return keyedMutex(new KeyedMutex<string>());
      default:
        throw new Error(`no ${primitive} yet`);
    }
  },
  settle: nextMacrotask,
  advance: (milliseconds) => vi.advanceTimersByTime(milliseconds),
  timers: () => vi.getTimerCount(),
  kindOf(error) {
    if (error instanceof TimeoutError) return 'timeout';
    if (error instanceof ClosedError) return 'closed';
    if (error instanceof ReentrancyError) return 'reentrant';
    if (error instanceof RangeError || error instanceof TypeError) return 'invalid';
    return undefined;
  },
};

/** No options at all is a path of its own. */
function given<Options extends object>(options: Options): Options | undefined {
  return Object.keys(options).length > 0 ? options : undefined;
}

function semaphore(semaphore: Semaphore): Subject {
  return {
    acquire: (request) => semaphore.acquire(given(request)),
    tryAcquire: (request) => semaphore.tryAcquire(given(request)),
    drain: (request) => semaphore.drain(given(request)),
    close: (...reason) => semaphore.close(...reason),
    setLimit: (limit) => {
      semaphore.limit = limit;
    },
    observe: () => ({
      available: semaphore.available,
      waiting: semaphore.waiting,
      limit: semaphore.limit,
      closed: semaphore.closed,
    }),
  };
}

function mutex(mutex: Mutex): Subject {
  return {
    acquire: (request) => mutex.lock(given(request)),
    tryAcquire: (request) => mutex.tryLock(given(request)),
    drain: (request) => mutex.drain(given(request)),
    close: (...reason) => mutex.close(...reason),
    observe: () => ({
      available: mutex.locked ? 0 : 1,
      waiting: mutex.waiting,
      closed: mutex.closed,
      owner: mutex.owner ?? null,
    }),
  };
}

function keyedSemaphore(keyed: KeyedSemaphore<string>): Subject {
  return {
    acquire: ({ key = '', ...request }) => keyed.acquire(key, given(request)),
    tryAcquire: ({ key = '', ...request }) => keyed.tryAcquire(key, given(request)),
    drain: (request) => keyed.drain(given(request)),
    close: (...reason) => keyed.close(...reason),
    observe: (key) =>
      key === undefined
        ? { closed: keyed.closed, keys: keyed.keys() }
        : { available: keyed.available(key), waiting: keyed.waiting(key) },
  };
}

function keyedMutex(keyed: KeyedMutex<string>): Subject {
  return {
    acquire: ({ key = '', ...request }) => keyed.lock(key, given(request)),
    tryAcquire: ({ key = '', ...request }) => keyed.tryLock(key, given(request)),
    drain: (request) => keyed.drain(given(request)),
    close: (...reason) => keyed.close(...reason),
    observe: (key) =>
      key === undefined
        ? { closed: keyed.closed, keys: keyed.keys() }
        : { available: keyed.locked(key) ? 0 : 1, waiting: keyed.waiting(key) },
  };
}
