/**
 * The classes of buffer views, by number.
 *
 * Invariant: a number means the same class on both sides, even if a runtime lacks that class.
 */

import { CorruptMessageError } from '../ring/reader.js';
import { typedArrayName } from './value.js';

type ViewClass = new (buffer: ArrayBufferLike) => ArrayBufferView;

const names = [
  'DataView',
  'Int8Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int16Array',
  'Uint16Array',
  'Int32Array',
  'Uint32Array',
  'Float16Array',
  'Float32Array',
  'Float64Array',
  'BigInt64Array',
  'BigUint64Array',
];

export function viewNumber(view: ArrayBufferView): number {
  return names.indexOf(typedArrayName(view) ?? 'DataView');
}

export function viewClass(number: number): ViewClass {
  const classes = globalThis as unknown as Record<string, ViewClass | undefined>;
  const found = classes[names[number] ?? ''];
  if (found === undefined) throw new CorruptMessageError(`unknown view ${number}`);
  return found;
}
