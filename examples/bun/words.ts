/** Runs in the pool's threads: counts the words of a text. */
export function count(text: Uint8Array): Record<string, number> {
  const words: Record<string, number> = Object.create(null);
  for (const [word] of new TextDecoder()
    .decode(text)
    .toLowerCase()
    .matchAll(/\p{Letter}+/gu)) {
    words[word] = (words[word] ?? 0) + 1;
  }
  return words;
}
