/** Random choices. */

export function between([least, most]: readonly [number, number]): number {
  return least + Math.random() * (most - least);
}

export function oneOf<T>(list: readonly T[]): T {
  if (list.length === 0) throw new RangeError('there is nothing to choose from');
  return list[Math.floor(Math.random() * list.length)] as T;
}

/** Returns `count` of the elements, in random order. */
export function someOf<T>(list: readonly T[], count: number): T[] {
  const rest = [...list];
  return Array.from({ length: count }, () => {
    const index = Math.floor(Math.random() * rest.length);
    return rest.splice(index, 1)[0] as T;
  });
}
