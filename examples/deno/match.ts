/** What runs in the threads of the pool: finds the lines that a pattern matches. A pattern can take for ever. */
export function match(text: string, pattern: string): string[] {
  const regex = new RegExp(pattern);
  return text.split('\n').filter((line) => regex.test(line));
}
