/**
 * Typed arrays in a runtime that reads each element of a received one: they are sent as a buffer with a description.
 *
 * Invariant: the receiver gets a view of the same class, offset and length; views of one buffer still share it.
 */

import { platform } from './platform.js';

/** The description of a view. */
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
// The name of the built-in class, as structured clone sees it: the constructor may be a derived class.
const nameOf = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)?.get as (this: object) => string;

type Resizable = ArrayBuffer & { readonly resizable?: boolean };

/** Returns the description of a view, or undefined for a view that is sent as it is. */
export function partsOfView(value: object): ViewParts | undefined {
  if (!platform.readsEachElement || !ArrayBuffer.isView(value)) return undefined;
  const view = nameOf.call(value);
  const { buffer, byteOffset, length } = value as Uint8Array;
  // A view of a resizable buffer may track its length, and no property says so.
  if (!forms.has(view) || !(buffer instanceof ArrayBuffer) || (buffer as Resizable).resizable) {
    return undefined;
  }
  return { view, buffer, offset: byteOffset, length };
}

/** Returns the view. Throws if the description is malformed. */
export function viewOf({ view, buffer, offset, length }: ViewParts): ArrayBufferView {
  const Form = forms.get(view);
  if (Form === undefined) throw new TypeError(`unknown kind of view: ${view}`);
  return new Form(buffer, offset, length);
}
