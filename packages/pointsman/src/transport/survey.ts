/**
 * Determines how a value can be sent to another thread, by visiting each of its objects once.
 *
 * Invariant: the walk is a loop, not a recursion, so a value of any depth can be visited. The value is not changed.
 */

import { isSignal } from '../sync/options.js';
import { DataCloneError, Refused, refusal } from './clone-errors.js';
import { goesByMessage, kindOf } from './kinds.js';
import { platform } from './platform.js';
import { isTransferred } from './transfer.js';
import { partsOfView } from './views.js';

/**
 * Maximum number of levels of a value. V8's deserializer recurses for each level: a thread with the default stack
 * reads about 1,400. In Deno a port receives nothing more after a message that could not be read.
 */
export const MAX_DEPTH = 1_000;

/** The number of levels that even a thread with a small stack can read. */
const SAFE_DEPTH = 100;

/** Bytes from which on a copy is transferred: structured clone would copy them twice. Row: 1 MB cloned. */
const HEAVY = 1 << 18;

/** Elements from which on an array is visited by its keys: it may be sparse. */
const MAY_BE_SPARSE = 1 << 24;

/** Levels that the encoded form of an error takes. */
const LEVELS_OF_ERROR = 5;

const movedBefore = 'a buffer that was moved before';

/** Number of objects from which on the visited ones are remembered. Most values have fewer. */
const FEW = 64;

export interface Survey {
  /** Whether it holds a value that structured clone cannot carry, or not in full. */
  readonly needsPacking: boolean;
  /** Whether another thread may be unable to read it: it holds a platform object, or is deep. */
  readonly isRisky: boolean;
}

/**
 * Visits a value, except the objects in `transfer`. Throws a {@link DataCloneError} if the value is too deep, or holds a
 * buffer that was transferred before, which some runtimes post although no thread can read it.
 */
export function survey(root: unknown, transfer: readonly object[]): Survey {
  if (!isComposite(root)) return { needsPacking: false, isRisky: false };
  let needsPacking = false;
  let isRisky = false;
  let depth = 0;
  let visited = 0;
  let seen: Set<object> | undefined;
  let level: object[] = [root];
  while (level.length > 0) {
    let levels = 1;
    const next: object[] = [];
    for (const value of level) {
      if (seen?.has(value)) continue;
      if (++visited > FEW) seen ??= new Set();
      seen?.add(value);
      if (isDetached(value)) throw refusal(root, new Refused(value, movedBefore));
      if (transfer.includes(value)) continue;
      if (isTransferred(value) || needsPlaceholder(value) || isHeavy(value, transfer)) {
        needsPacking = true;
        if (value instanceof Error) {
          levels = LEVELS_OF_ERROR;
          collectPartsOfError(value, next);
        }
      } else if (isOfPlatform(value)) {
        isRisky = true;
      } else if (!isLeaf(value)) {
        collectParts(value, next);
      }
    }
    depth += levels;
    level = next;
  }
  const moved = transfer.findIndex(isDetached);
  if (moved >= 0) {
    throw new DataCloneError(`transfer[${moved}] cannot be moved: it is ${movedBefore}`);
  }
  if (depth > MAX_DEPTH) {
    const message = `value cannot be cloned: it is nested ${depth} levels deep, and ${MAX_DEPTH} are possible`;
    throw new DataCloneError(message);
  }
  return { needsPacking, isRisky: isRisky || depth > SAFE_DEPTH };
}

export function isComposite(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function needsPlaceholder(value: object): boolean {
  if (typeof value === 'function') return true;
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === Array.prototype) {
    return Symbol.asyncIterator in value || (Symbol.iterator in value && 'next' in value);
  }
  if (partsOfView(value) !== undefined) return true;
  if (isLeaf(value) || value instanceof Map || value instanceof Set) return false;
  const { asyncIterator, iterator } = Symbol;
  return (
    value instanceof Error ||
    isSignal(value) ||
    asyncIterator in value ||
    (iterator in value && 'next' in value)
  );
}

/** Returns whether the object has no parts to visit: bytes, and built-in classes without members. */
export function isLeaf(value: object): boolean {
  return (
    ArrayBuffer.isView(value) ||
    value instanceof ArrayBuffer ||
    value instanceof Date ||
    value instanceof RegExp ||
    value instanceof String ||
    (typeof SharedArrayBuffer === 'function' && value instanceof SharedArrayBuffer)
  );
}

/** Returns whether another thread may be unable to read the object: its class is one of the platform. */
function isOfPlatform(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === Array.prototype) return false;
  const kind = goesByMessage(value) ? 'message' : kindOf(value);
  return kind === 'opaque' || kind === 'message' || kind === 'geometry';
}

/** A getter that throws drops only its property: see `pack.ts`. */
function collectPartsOfError(error: Error, into: object[]): void {
  for (const key of new Set([...Object.keys(error), 'cause', 'errors'])) {
    try {
      const part = error[key as keyof Error];
      if (isComposite(part)) into.push(part);
    } catch {}
  }
}

/** Returns whether this is a transferred buffer, or a view of one. */
export function isDetached(value: object): boolean {
  const buffer = ArrayBuffer.isView(value) ? value.buffer : value;
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength > 0) return false;
  try {
    new Uint8Array(buffer);
    return false;
  } catch {
    return true;
  }
}

/** Returns whether the view is large and covers its whole buffer; structured clone copies the whole buffer. */
export function isHeavy(value: object, transfer: readonly object[]): value is Uint8Array {
  return (
    value instanceof Uint8Array &&
    value.byteLength >= HEAVY &&
    value.byteLength === value.buffer.byteLength &&
    value.buffer instanceof ArrayBuffer &&
    !transfer.includes(value.buffer) &&
    platform.movesBytes
  );
}

/** Adds the objects that `value` refers to. */
export function collectParts(value: object, into: object[]): void {
  if (Array.isArray(value) && value.length < MAY_BE_SPARSE) {
    for (const item of value) if (isComposite(item)) into.push(item);
  } else if (value instanceof Map) {
    for (const [key, item] of value) {
      if (isComposite(key)) into.push(key);
      if (isComposite(item)) into.push(item);
    }
  } else if (value instanceof Set) {
    for (const item of value) if (isComposite(item)) into.push(item);
  } else if (!isLeaf(value)) {
    for (const key of Object.keys(value)) {
      const item = (value as Record<string, unknown>)[key];
      if (isComposite(item)) into.push(item);
    }
  }
}
