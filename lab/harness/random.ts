/**
 * Seeded random numbers: the order of cells and the bootstrap.
 *
 * Invariant: the same seed gives the same sequence, so a results file can be computed again from
 * its journal, digit for digit.
 */
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

export function seededRandom(seed: number): () => number {
  const generator = xoroshiro128plus(seed);
  return () => uniformFloat64(generator);
}
