/**
 * The first byte of a value: its type.
 *
 * Invariant: both sides of a bridge run the same version, so the numbers may change between versions. A tag >= `small`
 * is the integer tag - `small`.
 */

export const undefinedTag = 0;
export const nullTag = 1;
export const falseTag = 2;
export const trueTag = 3;
export const integerTag = 4;
export const doubleTag = 5;
export const stringTag = 6;
export const bytesTag = 7;
/** A number of which the bridge knows the value. */
export const referenceTag = 8;
export const bigintTag = 16;
export const shapeTag = 17;
/** The definition of a shape, followed by the value. */
export const defineTag = 18;
/** An object's keys and values, up to {@link endTag}. */
export const keyedTag = 19;
export const arrayTag = 20;
export const numbersTag = 21;
/** Inside an array: the remaining elements with their indices, up to {@link endTag}. */
export const sparseTag = 22;
export const endTag = 23;
export const dateTag = 24;
export const regexpTag = 25;
export const mapTag = 26;
export const setTag = 27;
export const bufferTag = 28;
export const viewTag = 29;
export const errorTag = 30;
export const boxedTag = 31;
export const geometryTag = 32;
/** The number of an earlier object of the graph. */
export const repeatTag = 33;
/** A value with repeated objects. */
export const graphTag = 34;
/** An array, followed by its non-element properties up to {@link endTag}. */
export const namedTag = 35;

export const small = 128;
