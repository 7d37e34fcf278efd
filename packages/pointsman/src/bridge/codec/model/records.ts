import fc from 'fast-check';

/** Objects with few keys and few kinds of values, so that the same shapes occur repeatedly. */
export const records = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.double(),
    fc.integer(),
    fc.constantFrom('a', 'ü', '€', undefined, null, true),
    tie('record'),
    fc.array(tie('value'), { maxLength: 4 }),
  ),
  record: fc.dictionary(fc.constantFrom('x', 'y', 'z', '__proto__', '1', 'k-k'), tie('value'), {
    noNullPrototype: true,
  }),
})).record;
