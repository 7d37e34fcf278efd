/**
 * The first byte of a value, which says what follows.
 *
 * Invariant: both sides of a bridge run this very file, so the numbers may change between versions. From
 * `small` upwards the byte is an integer itself: the tag minus `small`.
 */

export const undefinedTag = 0;
export const nullTag = 1;
export const falseTag = 2;
export const trueTag = 3;
export const integerTag = 4;
export const doubleTag = 5;
export const stringTag = 6;
export const bytesTag = 7;
/** A number that the bridge knows the value of. */
export const referenceTag = 8;
export const bigintTag = 16;
/** An object of a known shape. */
export const shapeTag = 17;
/** A shape becomes known; then the value. */
export const defineTag = 18;
/** An object with its keys, up to {@link endTag}. */
export const keyedTag = 19;
export const arrayTag = 20;
export const numbersTag = 21;
/** In an array: from here on only some elements exist, each with its index, up to {@link endTag}. */
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
/** An object that was there before, by its number. */
export const againTag = 33;
/** What follows holds objects that were there before. */
export const graphTag = 34;
/** An array, followed by its non-element properties up to {@link endTag}. */
export const namedTag = 35;

export const small = 128;
