/**
 * Packs values for a message. Functions, abort signals, iterators and errors, which structured clone cannot carry (or
 * not in full), are replaced by placeholders; the receiver puts the originals back.
 *
 * Invariant: the user's value is never changed, and each object in it is visited once.
 *
 * A message contains each placeholder twice: at its position in the value, and in a list. Structured clone preserves
 * identity, so the receiver recognizes a placeholder by the list, and no other object can be mistaken for one.
 */

import { isSignal } from '../sync/options.js';
import { Refused, refusal } from './clone-errors.js';
import { defineOwn, type ErrorParts, makeError, putTogether, takeApart } from './error-values.js';
import { kindOf } from './kinds.js';
import type { References } from './references.js';
import { isComposite, isDetached, isHeavy, isLeaf } from './survey.js';
import { isTransferred, type Transferable } from './transfer.js';
import { UncloneableSearch } from './uncloneable.js';
import { partsOfView, type ViewParts, viewOf } from './views.js';

/** Replaces a referenced object, an error, or a view. */
type Placeholder = { readonly reference: number } | { readonly error: ErrorParts } | ViewParts;

/** A value with placeholders. */
export interface Packed {
  readonly value: unknown;
  readonly placeholders: readonly Placeholder[];
}

/** What packing a value collects. */
export interface Baggage {
  /** The objects that the message transfers. */
  readonly transfer: Transferable[];
  /** The references that the message counts; see {@link References.undo}. */
  readonly passed: Set<number>;
  /** Whether the value can be sent only once: a part of it is transferred, or is an iterator. */
  isUnique: boolean;
  /** Whether the packed value contains an object of the user, not only copies. */
  isShared: boolean;
}

/** Returns a copy with placeholders. */
export function pack(root: unknown, references: References, baggage: Baggage): Packed {
  const placeholders: Placeholder[] = [];
  const copies = new Map<object, unknown>();
  const uncloneable = new UncloneableSearch();

  const keep = <Copy extends object>(value: object, copy: Copy): Copy => {
    copies.set(value, copy);
    return copy;
  };
  const theirs = (value: object): object => {
    baggage.isShared = true;
    return value;
  };
  const stand = (value: object, placeholder: Placeholder): Placeholder => {
    placeholders.push(placeholder);
    return keep(value, placeholder);
  };

  const standForView = (value: unknown): Placeholder | undefined => {
    const parts = isComposite(value) ? partsOfView(value) : undefined;
    if (parts === undefined) return undefined;
    baggage.isShared = true;
    return (copies.get(value as object) as Placeholder) ?? stand(value as object, parts);
  };

  const replace = (value: unknown): unknown => {
    // The copy may travel in a batch, where the platform's refusal would fail the other records too.
    if (typeof value === 'symbol') throw refusal(root, new Refused(value, 'a symbol'));
    if (!isComposite(value)) return value;
    if (copies.has(value)) return copies.get(value);
    if (isTransferred(value)) {
      if (value.list.length > 0) baggage.isUnique = true;
      for (const each of value.list) {
        if (isDetached(each))
          throw refusal(root, new Refused(value, 'a buffer that was moved before'));
        if (!baggage.transfer.includes(each)) baggage.transfer.push(each);
      }
      baggage.isShared = true;
      const moved = standForView(value.value) ?? value.value;
      copies.set(value, moved);
      return moved;
    }
    if (baggage.transfer.includes(value as Transferable)) return value;
    if (isHeavy(value, baggage.transfer)) {
      const copy = keep(value, new Uint8Array(value));
      baggage.transfer.push(copy.buffer);
      return copy;
    }
    const view = standForView(value);
    if (view !== undefined) return view;
    if (isLeaf(value)) return theirs(value);
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
      const parts = takeApart(value, (item) => uncloneable.holds(item));
      // The error may refer to itself.
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
    if (kindOf(value) !== 'plain') return theirs(value);
    // As structured clone does: the own properties of an instance of any class, as a plain object.
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

/** Replaces the placeholders by the originals, in place: no other code refers to the received value. */
export function unpack({ value: root, placeholders }: Packed, references: References): unknown {
  if (placeholders.length === 0) return root;
  const received = new Set<number>();
  const originals = new Map<object, unknown>();
  for (const placeholder of placeholders) {
    if ('reference' in placeholder) {
      originals.set(placeholder, references.valueOf(placeholder.reference, received));
    } else if ('view' in placeholder) {
      originals.set(placeholder, viewOf(placeholder));
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
    if (!('error' in placeholder)) continue;
    const { error } = placeholder;
    for (const pair of error.hidden) (pair as [string, unknown])[1] = putBack(pair[1]);
    putBackParts(error.own);
    drain();
    putTogether(originals.get(placeholder) as Error, error);
  }
  return result;
}
