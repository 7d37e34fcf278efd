/** Returns bytes in which missing, repeated and misplaced ones are detectable. */
export function pattern(size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at++) bytes[at] = (at * 31 + (at >> 8) + size) & 255;
  return bytes;
}

export function isPattern(bytes: Uint8Array, size: number): boolean {
  if (bytes.length !== size) return false;
  for (let at = 0; at < size; at++) {
    if (bytes[at] !== ((at * 31 + (at >> 8) + size) & 255)) return false;
  }
  return true;
}
