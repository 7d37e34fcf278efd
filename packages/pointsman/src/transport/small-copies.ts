/**
 * Copies small values as structured clone would. A copy may travel in one message with others: it shares no object
 * with them, and later changes by the caller do not affect it.
 *
 * Invariant: a value is copied completely or not at all. If it is not, a getter in it runs at most one extra time.
 */

import { platform } from './platform.js';

/** Returned by {@link copySmall} for a value that is large or not plain. */
export const NOT_SMALL = Symbol('not small');

/** Maximum number of objects in a value; they are compared one by one. Row: small objects, 256 in flight. */
const MAX_OBJECTS = 40;
/** Maximum number of elements of an array, or keys of an object. */
const MAX_LENGTH = 64;
/** Maximum number of bytes in a byte array: copying more takes longer than a message of its own. Row: 1 kB of bytes. */
const MAX_BYTES = 1 << 12;

/** The objects of the current value, and their copies. The lists are reused for the next value, as most are tiny. */
const sources: (object | undefined)[] = [];
const copies: (object | undefined)[] = [];
let count = 0;
let isCopying = false;

export function copySmall(value: unknown): unknown {
  return hasIdentity(value) ? guarded(value, copyObject) : value;
}

/** Copies the arguments of a call. The array itself never reaches the called function. */
export function copySmallArguments(args: readonly unknown[]): unknown {
  for (let index = 0; index < args.length; index++) {
    if (hasIdentity(args[index])) return guarded(args as unknown[], copyItems);
  }
  return args.length === 0 ? none : args.slice();
}

const none: readonly unknown[] = [];

function guarded<Value>(value: Value, copy: (value: Value) => unknown): unknown {
  // A getter of the value sends another value.
  if (isCopying) return NOT_SMALL;
  isCopying = true;
  try {
    return copy(value);
  } finally {
    isCopying = false;
    for (let index = 0; index < count; index++) sources[index] = copies[index] = undefined;
    count = 0;
  }
}

/** Whether two messages could share the value, or it cannot be cloned. */
function hasIdentity(value: unknown): boolean {
  const type = typeof value;
  return type === 'object' ? value !== null : type === 'function' || type === 'symbol';
}

function copyObject(value: unknown): unknown {
  if (typeof value !== 'object') return NOT_SMALL;
  const source = value as Record<string, unknown>;
  for (let index = 0; index < count; index++) {
    if (sources[index] === source) return copies[index];
  }
  if (count === MAX_OBJECTS) return NOT_SMALL;
  const prototype = Object.getPrototypeOf(source);
  if (prototype === Object.prototype) return copyPlain(source);
  if (prototype === Array.prototype && Array.isArray(source)) return copyArray(source);
  if (prototype === Uint8Array.prototype) return copyBytes(value as Uint8Array);
  return NOT_SMALL;
}

function copyPlain(source: Record<string, unknown>): unknown {
  // An object with a symbol key may be an iterator, or a platform object.
  if (Object.getOwnPropertySymbols(source).length > 0) return NOT_SMALL;
  const copy = { ...source };
  const keys = Object.keys(copy);
  if (keys.length > MAX_LENGTH) return NOT_SMALL;
  sources[count] = source;
  copies[count++] = copy;
  for (const key of keys) {
    const value = copy[key];
    if (!hasIdentity(value)) continue;
    const item = copyObject(value);
    if (item === NOT_SMALL) return NOT_SMALL;
    copy[key] = item;
  }
  return copy;
}

function copyArray(source: readonly unknown[]): unknown {
  const { length } = source;
  if (length > MAX_LENGTH) return NOT_SMALL;
  // Reject holes and non-element properties; the latter come after the elements.
  const keys = Object.keys(source);
  if (keys.length !== length) return NOT_SMALL;
  if (length > 0 && keys[length - 1] !== String(length - 1)) return NOT_SMALL;
  return copyItems(source);
}

function copyItems(source: readonly unknown[]): unknown {
  const { length } = source;
  if (length > MAX_LENGTH) return NOT_SMALL;
  const copy = source.slice();
  sources[count] = source;
  copies[count++] = copy;
  for (let index = 0; index < length; index++) {
    const value = copy[index];
    if (!hasIdentity(value)) continue;
    const item = copyObject(value);
    if (item === NOT_SMALL) return NOT_SMALL;
    copy[index] = item;
  }
  return copy;
}

function copyBytes(source: Uint8Array): unknown {
  if (platform.readsEachElement) return NOT_SMALL;
  const { buffer, byteLength } = source;
  if (byteLength === 0 || byteLength > MAX_BYTES) return NOT_SMALL;
  // Structured clone copies the whole buffer, and another view in the value would share it.
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength !== byteLength) return NOT_SMALL;
  if ((buffer as Resizable).resizable || sources.includes(buffer)) return NOT_SMALL;
  if (count + 2 > MAX_OBJECTS) return NOT_SMALL;
  const copy = source.slice();
  sources[count] = source;
  copies[count++] = copy;
  sources[count] = buffer;
  copies[count++] = copy.buffer;
  return copy;
}

/** Not every runtime has resizable buffers. */
type Resizable = ArrayBuffer & { readonly resizable?: boolean };
