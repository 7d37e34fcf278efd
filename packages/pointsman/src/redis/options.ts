/**
 * What a mutex and its locks may be told.
 *
 * Invariant: nothing is sent, and nothing is queued, for a request that cannot be used.
 */

import { checkInteger, invalid } from '../sync/errors.js';
import { checkOptions, checkWaitOptions, type WaitOptions } from '../sync/options.js';

/** What a {@link RedisMutex} may be told when it is made. */
export interface RedisMutexOptions {
  /**
   * Locks of different namespaces have nothing to do with each other. A non-empty string without
   * braces. Default `pointsman`.
   */
  readonly namespace?: string | undefined;
  /**
   * How long, in milliseconds, a lock outlives a process that has died or stands still: an integer
   * from 50 to 86400000, a day. Every third of it a heartbeat renews all locks of the process. Default 5000.
   * All processes of a namespace should use the same.
   */
  readonly ttl?: number | undefined;
  /**
   * `script` needs the right to run Lua and one round trip. `pure` does the same with WATCH and MULTI, in
   * two, and reads all of the namespace each time. Both may share a namespace. Default `script`.
   */
  readonly handler?: 'script' | 'pure' | undefined;
  /**
   * How a lock changes hands. `local`: among the tasks of this process without the server, as long as
   * nobody elsewhere waits, and for at most 5 ms longer once somebody does. `strict`: always through the
   * server, first come, first served among all processes. Default `local`.
   */
  readonly mode?: 'local' | 'strict' | undefined;
  /**
   * What this process is called in `query()`, and what the messages of errors begin with. A non-empty
   * string without spaces and slashes. Default: host name and process id, in `query()` only.
   */
  readonly name?: string | undefined;
}

/** What {@link RedisMutex.tryLock} may be told. */
export interface TryLockKeysOptions {
  /** As for the whole mutex, for this lock. */
  readonly ttl?: number | undefined;
  /** As for the whole mutex, for this lock. */
  readonly mode?: 'local' | 'strict' | undefined;
  /**
   * Who asks: any value but `undefined`, compared by identity. An owner that holds one of the keys
   * already, through this mutex, is refused with a `ReentrancyError`, instead of waiting for itself
   * forever.
   */
  readonly owner?: unknown;
  /**
   * Whether an `owner` that holds all of the keys by one lock gets another guard of that lock, at once
   * and with the same token, instead of a `ReentrancyError`. The lock goes back when the last of its
   * guards is released; its `ttl`, `mode` and `maxHold` stay what they are. An owner that holds only
   * some of the keys, or by several locks, is refused all the same: to wait while holding could never
   * end. Needs an `owner`. Default false.
   */
  readonly reentrant?: boolean | undefined;
  /**
   * The lock ends by itself when it was held for this many milliseconds, any number above 0: the next
   * gets it, and the guard's signal aborts with a {@link LockLostError}. A wait at a condition begins it
   * anew. `Infinity`, the default, means until it is released.
   */
  readonly maxHold?: number | undefined;
}

/** What {@link RedisMutex.lock} may be told. */
export interface LockKeysOptions extends WaitOptions, TryLockKeysOptions {}

const mutexNames: ReadonlySet<string> = new Set(['namespace', 'ttl', 'handler', 'mode', 'name']);
const tryNames: ReadonlySet<string> = new Set(['ttl', 'mode', 'owner', 'reentrant', 'maxHold']);
const lockNames: ReadonlySet<string> = new Set([...tryNames, 'signal', 'timeout']);

export function checkMutexOptions(options: RedisMutexOptions): void {
  checkOptions(options, mutexNames);
}

/** Throws unless they are options of `lock`, or of `tryLock`, which does not wait. */
export function checkLockOptions(options: LockKeysOptions, wait = true): void {
  checkWaitOptions(options, wait ? lockNames : tryNames);
  const { ttl, mode, owner, reentrant, maxHold } = options;
  if (ttl !== undefined) readTtl(ttl);
  if (mode !== undefined) readMode(mode);
  if (reentrant !== undefined && typeof reentrant !== 'boolean') {
    throw invalid('reentrant', reentrant, 'a boolean');
  }
  if (reentrant && owner === undefined) throw invalid('owner', owner, 'given with reentrant');
  if (maxHold !== undefined && !(typeof maxHold === 'number' && maxHold > 0)) {
    throw invalid('maxHold', maxHold, 'a number of milliseconds above 0', 'number');
  }
}

const MOST_KEYS = 1_000;

/**
 * Whether a text has half a surrogate pair, which would become another character on its way to the server. Not by a pattern with the flag `u`,
 * by which the engine of Bun overlooks some.
 */
export const isTorn = (text: string & { isWellFormed?(): boolean }): boolean =>
  !text.isWellFormed?.();

export function readKeys(keys: unknown): readonly string[] {
  const list = typeof keys === 'string' ? [keys] : keys;
  if (!Array.isArray(list)) throw invalid('keys', keys, 'a string or an array of strings');
  for (const key of list) {
    if (typeof key !== 'string' || key === '' || isTorn(key)) {
      throw invalid('keys', key, 'non-empty, well-formed strings');
    }
  }
  const unique = list.length > 1 ? [...new Set<string>(list)].sort() : [...list];
  checkInteger('keys.length', unique.length, 1, MOST_KEYS);
  return unique;
}

function readChoice<T extends string>(name: string, value: unknown, choices: readonly T[]): T {
  if (!choices.includes(value as T)) {
    throw invalid(name, value, choices.map((choice) => `'${choice}'`).join(' or '));
  }
  return value as T;
}

/** A day. The rest of a lease plus the maximum lag of the time then fits into a timer. */
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

export const readHandler = (handler: unknown): 'script' | 'pure' =>
  readChoice('handler', handler, ['script', 'pure']);

export const readMode = (mode: unknown): 'local' | 'strict' =>
  readChoice('mode', mode, ['local', 'strict']);
