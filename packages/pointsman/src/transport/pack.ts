/**
 * Values for a message of the platform. What structured clone cannot carry, or not in full (functions,
 * abort signals, iterators, errors), is replaced by a placeholder, and put back on the other side.
 *
 * Invariant: the user's value is never changed. A value with nothing to replace is not copied either;
 * each object of it is visited once, however often it is referred to.
 *
 * Structured clone keeps identity within a message, so the placeholders travel twice: in their places,
 * and in a list. What is in the list is a placeholder, and nothing else can be taken for one.
 */

import { isSignal } from '../sync/options.js';
import { defineOwn, type ErrorParts, makeError, putTogether, takeApart } from './error-values.js';
import { platform } from './platform.js';
import type { References } from './references.js';
import { isTransferred, type Transferable } from './transfer.js';

/** Stands for a reference, or for an error. */
type Placeholder = { readonly reference: number } | { readonly error: ErrorParts };

/** A value in which something was replaced. */
export interface Packed {
  readonly value: unknown;
  readonly placeholders: readonly Placeholder[];
}

/** What a value takes along. */
export interface Baggage {
  /** What the message moves. */
  readonly transfer: Transferable[];
  /** The references that it counts; see {@link References.undo}. */
  readonly passed: number[];
  /** Whether it can be sent only once: something moves, or is iterated over. */
  isUnique: boolean;
}

/** Bytes from which on a copy is moved: structured clone copies them twice. Row: 1 MB cloned. */
const HEAVY = 1 << 18;

/** Elements from which on an array is looked through by its keys: it may be nearly empty. */
const MAY_BE_SPARSE = 1 << 24;

/** Objects after which it is remembered which ones were visited. Most values have fewer. */
const FEW = 64;

/** Whether structured clone carries all of it as it is. `transfer`: what moves is not looked into. */
export function isPlainData(root: unknown, transfer: readonly unknown[] = []): boolean {
  if (!isComposite(root)) return true;
  const open: object[] = [root];
  let visited = 0;
  let seen: Set<object> | undefined;
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (seen?.has(value) || transfer.includes(value)) continue;
    if (needsPlaceholder(value) || isTransferred(value) || isHeavy(value, transfer)) return false;
    if (++visited > FEW) seen ??= new Set();
    seen?.add(value);
    collectParts(value, open);
  }
  return true;
}

function isComposite(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function needsPlaceholder(value: object): boolean {
  if (typeof value === 'function') return true;
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === Array.prototype) {
    return Symbol.asyncIterator in value || (Symbol.iterator in value && 'next' in value);
  }
  if (isLeaf(value) || value instanceof Map || value instanceof Set) return false;
  const { asyncIterator, iterator } = Symbol;
  return (
    value instanceof Error ||
    isSignal(value) ||
    asyncIterator in value ||
    (iterator in value && 'next' in value)
  );
}

/** What has no parts: bytes, and what structured clone knows by its class. */
function isLeaf(value: object): boolean {
  return (
    ArrayBuffer.isView(value) ||
    value instanceof ArrayBuffer ||
    value instanceof Date ||
    value instanceof RegExp ||
    value instanceof String ||
    (typeof SharedArrayBuffer === 'function' && value instanceof SharedArrayBuffer)
  );
}

/** Many bytes, and the whole of their buffer: structured clone takes all of it. */
function isHeavy(value: object, transfer: readonly unknown[]): value is Uint8Array {
  return (
    value instanceof Uint8Array &&
    value.byteLength >= HEAVY &&
    value.byteLength === value.buffer.byteLength &&
    value.buffer instanceof ArrayBuffer &&
    !transfer.includes(value.buffer) &&
    platform.movesBytes
  );
}

function collectParts(value: object, into: object[]): void {
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

/** Replaces what structured clone cannot carry, in a copy. */
export function pack(root: unknown, references: References, baggage: Baggage): Packed {
  const placeholders: Placeholder[] = [];
  const copies = new Map<object, unknown>();

  const keep = <Copy extends object>(value: object, copy: Copy): Copy => {
    copies.set(value, copy);
    return copy;
  };
  const stand = (value: object, placeholder: Placeholder): Placeholder => {
    placeholders.push(placeholder);
    return keep(value, placeholder);
  };

  const replace = (value: unknown): unknown => {
    if (!isComposite(value)) return value;
    if (copies.has(value)) return copies.get(value);
    if (isTransferred(value)) {
      if (value.list.length > 0) baggage.isUnique = true;
      for (const each of value.list) {
        if (!baggage.transfer.includes(each)) baggage.transfer.push(each);
      }
      copies.set(value, value.value);
      return value.value;
    }
    if (baggage.transfer.includes(value as Transferable)) return value;
    if (isHeavy(value, baggage.transfer)) {
      const copy = keep(value, new Uint8Array(value));
      baggage.transfer.push(copy.buffer);
      return copy;
    }
    if (isLeaf(value)) return value;
    if (Array.isArray(value)) {
      // Holes stay holes.
      const copy = keep(value, new Array<unknown>(value.length));
      for (const key of Object.keys(value)) {
        (copy as unknown as Record<string, unknown>)[key] = replace(value[key as never]);
      }
      return copy;
    }
    if (value instanceof Map) {
      const copy = keep(value, new Map());
      for (const [key, item] of value) copy.set(replace(key), replace(item));
      return copy;
    }
    if (value instanceof Set) {
      const copy = keep(value, new Set());
      for (const item of value) copy.add(replace(item));
      return copy;
    }
    if (value instanceof Error) {
      const parts = takeApart(value);
      // It may contain itself.
      const placeholder = { error: parts as { hidden: unknown; own: unknown } };
      stand(value, placeholder as Placeholder);
      placeholder.error.hidden = parts.hidden.map(([key, item]) => [key, replace(item)]);
      placeholder.error.own = replaceProperties(parts.own, {});
      return placeholder;
    }
    const reference = references.numberOf(value, baggage.passed);
    if (reference >= 0) {
      if (typeof value === 'object' && !isSignal(value)) baggage.isUnique = true;
      return stand(value, { reference });
    }
    // As structured clone does: what an object of any class has itself, as a plain one.
    if (Object.keys(value).length === 0) return value;
    return replaceProperties(value, keep(value, {}));
  };
  const replaceProperties = (value: object, copy: Record<string, unknown>) => {
    for (const key of Object.keys(value)) {
      defineOwn(copy, key, replace((value as Record<string, unknown>)[key]));
    }
    return copy;
  };

  return { value: replace(root), placeholders };
}

/** Puts everything back. The value has just been received: it is changed in place. */
export function unpack({ value: root, placeholders }: Packed, references: References): unknown {
  if (placeholders.length === 0) return root;
  const received: number[] = [];
  const originals = new Map<object, unknown>();
  for (const placeholder of placeholders) {
    if ('reference' in placeholder) {
      originals.set(placeholder, references.valueOf(placeholder.reference, received));
    } else {
      const { classNumber, message, name } = placeholder.error;
      originals.set(placeholder, makeError(classNumber, message, name));
    }
  }
  const seen = new Set<object>();
  const original = (value: unknown): unknown =>
    isComposite(value) && originals.has(value) ? originals.get(value) : value;
  const open: object[] = [];
  const putBack = (value: unknown): unknown => {
    const put = original(value);
    if (put === value && isComposite(value) && !seen.has(value)) {
      seen.add(value);
      open.push(value);
    }
    return put;
  };
  const putBackParts = (value: object): void => {
    if (value instanceof Map) {
      const entries = [...value];
      value.clear();
      for (const [key, item] of entries) value.set(putBack(key), putBack(item));
    } else if (value instanceof Set) {
      const items = [...value];
      value.clear();
      for (const item of items) value.add(putBack(item));
    } else if (!isLeaf(value)) {
      const fields = value as Record<string, unknown>;
      for (const key of Object.keys(value)) {
        const before = fields[key];
        const after = putBack(before);
        if (after !== before) defineOwn(value, key, after);
      }
    }
  };
  const result = putBack(root);
  const drain = () => {
    for (let value = open.pop(); value !== undefined; value = open.pop()) putBackParts(value);
  };
  drain();
  for (const placeholder of placeholders) {
    if ('reference' in placeholder) continue;
    const { error } = placeholder;
    for (const pair of error.hidden) (pair as [string, unknown])[1] = putBack(pair[1]);
    putBackParts(error.own);
    drain();
    putTogether(originals.get(placeholder) as Error, error);
  }
  return result;
}

/** An error that was packed, without what it had besides its name, its message and its stack. */
export function errorIn({ value, placeholders }: Packed): unknown {
  const placeholder = placeholders.find((each) => each === value);
  if (placeholder === undefined || !('error' in placeholder)) return value;
  const { message, name, hidden } = placeholder.error;
  const stack = hidden.find(([key]) => key === 'stack')?.[1];
  return Object.assign(new Error(message), { name, stack });
}
