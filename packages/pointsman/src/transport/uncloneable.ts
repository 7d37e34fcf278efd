/**
 * Finds the properties of an error that cannot be copied to another thread. Only they are omitted; structured clone
 * would omit all own properties.
 *
 * Invariant: an object found cloneable is not searched again for another error of the same message.
 */

import { isSignal } from '../sync/options.js';
import { kindOf } from './kinds.js';
import { iterationOf } from './references.js';
import { collectParts, isComposite, isDetached, isLeaf } from './survey.js';
import { isTransferred } from './transfer.js';

export class UncloneableSearch {
  /** Objects that can be copied completely. */
  readonly #cloneable = new Set<object>();

  /** Returns whether a part of the value can neither be copied nor be passed by reference. */
  holds(root: unknown): boolean {
    if (typeof root === 'symbol') return true;
    if (!isComposite(root)) return false;
    const visited = new Set<object>();
    const open: object[] = [root];
    try {
      for (let value = open.pop(); value !== undefined; value = open.pop()) {
        if (visited.has(value) || this.#cloneable.has(value)) continue;
        visited.add(value);
        // The properties of a nested error are judged one by one, when that error is written.
        if (isByReference(value) || value instanceof Error) continue;
        if (!canBeCloned(value)) return true;
        if (!isLeaf(value)) {
          if (holdsSymbol(value)) return true;
          collectParts(value, open);
        }
      }
    } catch {
      // A getter threw.
      return true;
    }
    for (const value of visited) this.#cloneable.add(value);
    return false;
  }
}

function isByReference(value: object): boolean {
  if (typeof value === 'function' || isTransferred(value)) return true;
  if (Array.isArray(value) || isLeaf(value)) return false;
  return isSignal(value) || iterationOf(value) !== undefined;
}

function canBeCloned(value: object): boolean {
  if (isDetached(value)) return false;
  const kind = kindOf(value);
  if (kind === 'opaque') return false;
  if (kind !== 'message') return true;
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}

function holdsSymbol(value: object): boolean {
  const items: Iterable<unknown> =
    value instanceof Map ? [...value].flat() : value instanceof Set ? value : Object.values(value);
  for (const item of items) if (typeof item === 'symbol') return true;
  return false;
}
