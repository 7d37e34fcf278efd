/**
 * The keys of the locks.
 *
 * Invariant: any two sets of one group share a key (n of 2n - 1), so all locks of a group exclude each other. Those of
 * different groups never do.
 */
import { someOf } from './random.js';
import type { Primitive } from './subjects/subject.js';

/** Groups take turns in locking 1 of 1, 3 of 5 and 10 of 19 keys. */
const sizes = [1, 3, 10];

export function keysOf(group: number, primitive: Primitive): string[] {
  // An election has one key.
  if (primitive === 'leader') return [`${group}-0`];
  const size = sizes[group % sizes.length] ?? 1;
  const names = Array.from({ length: 2 * size - 1 }, (_, index) => `${group}-${index}`);
  return someOf(names, size);
}

export function groupOf(keys: readonly string[]): number {
  return Number.parseInt(keys[0] ?? '', 10);
}
