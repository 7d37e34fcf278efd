/**
 * The options of stores, mutexes and locks, and their checks.
 *
 * Invariant: a request with bad input is refused before anything is sent or queued.
 */

import { hostname } from 'node:os';
import { checkInteger, invalid } from '../sync/errors.js';
import { checkOptions, checkWaitOptions, type WaitOptions } from '../sync/options.js';

/** Options for a store. */
export interface StoreOptions {
  /** Stores of different namespaces are independent. A non-empty string without braces. Default `pointsman`. */
  readonly namespace?: string | undefined;
  /**
   * Milliseconds for which a lock outlives a process that has died or is suspended: an integer from 50 to 86400000, a
   * day. A heartbeat renews all locks of the process every third of it. Default 5000. Use the same value in all
   * processes of a namespace.
   */
  readonly ttl?: number | undefined;
  /**
   * The name of this process in `query()`, and the prefix of error messages. A non-empty string without spaces and
   * slashes. Default: host name and process id, in `query()` only.
   */
  readonly name?: string | undefined;
}

/** Options for a {@link SharedMutex}. */
export interface SharedMutexOptions {
  /**
   * `local` hands a lock over among the tasks of this process without the server, while no other process waits, and for
   * at most 5 ms longer. `strict` always goes through the server, FIFO among all processes. Default `local`.
   */
  readonly mode?: 'local' | 'strict' | undefined;
  /** Replaces the `name` of the store for this mutex. */
  readonly name?: string | undefined;
}

/** Options for a {@link SharedSemaphore}. */
export interface SharedSemaphoreOptions {
  /**
   * `local` hands a permit over among the tasks of this process without the store, for at most 5 ms after the store has
   * granted it. `strict` always goes through the store, FIFO among all processes. Default `local`.
   */
  readonly mode?: 'local' | 'strict' | undefined;
  /** Replaces the `name` of the store for this semaphore. */
  readonly name?: string | undefined;
}

/** Options for {@link SharedMutex.tryLock}. */
export interface TryLockKeysOptions {
  /**
   * The owner of the lock: any value but `undefined`, compared by identity. If it already holds one of the keys through
   * this mutex, the request rejects with a `ReentrancyError` instead of waiting for itself forever.
   */
  readonly owner?: unknown;
  /**
   * Whether an `owner` that holds all of the keys by one lock gets another guard of that lock, at once and with the same
   * token. The lock is released with the last of its guards; its `maxHold` does not change. An owner that holds only
   * some of the keys, or holds them by several locks, still gets a `ReentrancyError`, because waiting while holding
   * could deadlock. Needs an `owner`. Default false.
   */
  readonly reentrant?: boolean | undefined;
  /**
   * Maximum milliseconds for which the lock is held, any number above 0. Then the lock ends, the guard's signal aborts
   * with a {@link LockLostError}, and the next request is served. A wait at a condition restarts it. Default
   * `Infinity`.
   */
  readonly maxHold?: number | undefined;
}

/** Options for {@link SharedMutex.lock}. */
export interface LockKeysOptions extends WaitOptions, TryLockKeysOptions {}

/** Options for {@link SharedRwLock}, {@link SharedSemaphore} and {@link Leader}. */
export interface SharedOptions {
  /** Replaces the `name` of the store for this primitive. */
  readonly name?: string | undefined;
}

/** Options for {@link SharedSemaphore.tryAcquire}. */
export interface TryAcquireKeysOptions {
  /** The number of permits of each key: an integer from 1 up to the limit. Default 1. */
  readonly weight?: number | undefined;
  /**
   * Maximum milliseconds for which the permits are held, any number above 0. Then they are released, and the guard's
   * signal aborts with a {@link LockLostError}. Default `Infinity`.
   */
  readonly maxHold?: number | undefined;
}

/** Options for {@link SharedSemaphore.acquire}. */
export interface AcquireKeysOptions extends WaitOptions, TryAcquireKeysOptions {}

const mutexNames: readonly string[] = ['mode', 'name'];
const tryNames: readonly string[] = ['owner', 'reentrant', 'maxHold'];
const lockNames: readonly string[] = [...tryNames, 'signal', 'timeout'];

/** Checks the options of `lock`, or of `tryLock` if not `wait`. */
export function checkLockOptions(options: LockKeysOptions, wait = true): void {
  checkWaitOptions(options, wait ? lockNames : tryNames);
  const { owner, reentrant, maxHold } = options;
  if (reentrant !== undefined && typeof reentrant !== 'boolean') {
    throw invalid('reentrant', reentrant, 'a boolean');
  }
  if (reentrant && owner === undefined) throw invalid('owner', owner, 'given with reentrant');
  checkMaxHold(maxHold);
}

export function checkMaxHold(maxHold: number | undefined): void {
  if (maxHold !== undefined && !(typeof maxHold === 'number' && maxHold > 0)) {
    throw invalid('maxHold', maxHold, 'a number of milliseconds above 0', 'number');
  }
}

const MAX_KEYS = 1_000;

/**
 * Whether a text has half a surrogate pair, which would become another character on its way to the server. Not a pattern
 * with the flag `u`, because Bun's engine misses some.
 */
export const isTorn = (text: string & { isWellFormed?(): boolean }): boolean =>
  !text.isWellFormed?.();

function checkKey(key: unknown): asserts key is string {
  if (typeof key !== 'string' || key === '' || isTorn(key)) {
    throw invalid('keys', key, 'non-empty, well-formed strings');
  }
}

/** Returns the keys sorted and without duplicates. */
export function readKeys(keys: unknown): readonly string[] {
  if (typeof keys === 'string') {
    checkKey(keys);
    return [keys];
  }
  if (!Array.isArray(keys)) throw invalid('keys', keys, 'a string or an array of strings');
  for (const key of keys) checkKey(key);
  const unique = [...new Set<string>(keys)].sort();
  checkInteger('keys.length', unique.length, 1, MAX_KEYS);
  return unique;
}

export function readChoice<T extends string>(
  name: string,
  value: unknown,
  choices: readonly T[],
): T {
  if (!choices.includes(value as T)) {
    throw invalid(name, value, choices.map((choice) => `'${choice}'`).join(' or '));
  }
  return value as T;
}

/** A day. The rest of a lease plus the maximum lag of the namespace's time then fits into a platform timer. */
const LONGEST_TTL = 86_400_000;

export const readTtl = (ttl: unknown): number => {
  checkInteger('ttl', ttl, 50, LONGEST_TTL);
  return ttl as number;
};

const readText = (name: string, value: unknown, pattern: RegExp, expected: string): string => {
  if (typeof value !== 'string' || !pattern.test(value)) throw invalid(name, value, expected);
  return value;
};

export const readNamespace = (namespace: unknown): string =>
  readText(
    'namespace',
    namespace,
    /^[^{}\p{Surrogate}]+$/u,
    'a non-empty, well-formed string without braces',
  );

export const readProcessName = (name: unknown): string =>
  readText(
    'name',
    name,
    /^[^\s/\p{Surrogate}]+$/u,
    'a non-empty, well-formed string without spaces and slashes',
  );

export const readConditionName = (name: unknown): string =>
  readText('name', name, /^\P{Surrogate}+$/u, 'a non-empty, well-formed string');

export const readElection = (election: unknown): string =>
  readText('election', election, /^\P{Surrogate}+$/u, 'a non-empty, well-formed string');

/** The name of a process that was given none. */
export const defaultName = (): string => `${hostname()}:${process.pid}`;

/** Checks the options of a mutex or a semaphore and applies the defaults. */
export function readMutexOptions(options: SharedMutexOptions | SharedSemaphoreOptions): {
  mode: 'local' | 'strict';
  name: string | undefined;
} {
  checkOptions(options, mutexNames);
  const { mode = 'local', name } = options;
  return {
    mode: readChoice('mode', mode, ['local', 'strict']),
    name: name === undefined ? undefined : readProcessName(name),
  };
}

/** Checks the options of a primitive that has only a name. */
export function readSharedOptions(options: SharedOptions): string | undefined {
  checkOptions(options, ['name']);
  return options.name === undefined ? undefined : readProcessName(options.name);
}
