/**
 * Views in a runtime that reads each element of a received view: there a view travels as its buffer, with a
 * description of what the view shows.
 *
 * Invariant: the other side gets a view of the same kind, offset and length; views of one buffer share it there too.
 */

import { platform } from './platform.js';

/** Stands for a view of a buffer. */
export interface ViewParts {
  readonly view: string;
  readonly buffer: ArrayBuffer;
  readonly offset: number;
  readonly length: number;
}

const forms = new Map(
  [
    [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array],
    [Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array],
  ]
    .flat()
    .map((form) => [form.name, form]),
);
// Structured clone goes by what a view is, and not by the class that a program has made of it.
const nameOf = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)?.get as (this: object) => string;

type Resizable = ArrayBuffer & { readonly resizable?: boolean };

/** The parts that a view travels as, or undefined where it travels as it is. */
export function partsOfView(value: object): ViewParts | undefined {
  if (!platform.readsEachElement || !ArrayBuffer.isView(value)) return undefined;
  const view = nameOf.call(value);
  const { buffer, byteOffset, length } = value as Uint8Array;
  // A view of a buffer that grows may have no length of its own, which no property tells.
  if (!forms.has(view) || !(buffer instanceof ArrayBuffer) || (buffer as Resizable).resizable) {
    return undefined;
  }
  return { view, buffer, offset: byteOffset, length };
}

/** Throws for parts that are no view. */
export function viewOf({ view, buffer, offset, length }: ViewParts): ArrayBufferView {
  const Form = forms.get(view);
  if (Form === undefined) throw new TypeError('a view of this kind is not known');
  return new Form(buffer, offset, length);
}
