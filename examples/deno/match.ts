/** Runs in the pool's threads: finds the lines that match a pattern, which may never end. */
export function match(text: string, pattern: string): string[] {
  const regex = new RegExp(pattern);
  return text.split('\n').filter((line) => regex.test(line));
}
