/**
 * The document's key sets: n of 2n - 1 keys, drawn anew for every turn.
 *
 * Invariant: any two such sets share a key, so all turns exclude each other. The sets differ only in the number of
 * keys and in how often two locks in a row have the same keys.
 */
export interface KeySet {
  /** Its name in the document. */
  readonly name: string;
  readonly size: number;
}

export const keySets: readonly KeySet[] = [1, 2, 3, 5, 10].map((size) => ({
  name: `${size}/${2 * size - 1}`,
  size,
}));

export function keySetNamed(name: string): KeySet {
  const found = keySets.find((keySet) => keySet.name === name);
  if (!found)
    throw new RangeError(`key set ${name}: expected one of ${keySets.map((one) => one.name)}`);
  return found;
}

/** Draws the keys of one turn. */
export function drawFrom({ size }: KeySet, prefix: string): () => string[] {
  const pool = Array.from({ length: 2 * size - 1 }, (_, index) => `${prefix}:${index}`);
  return () => {
    for (let index = 0; index < size; index++) {
      const other = index + Math.floor(Math.random() * (pool.length - index));
      const key = pool[other] as string;
      pool[other] = pool[index] as string;
      pool[index] = key;
    }
    return pool.slice(0, size);
  };
}
