/** The keys of the requests: one, or as many as a server has users. */
export function keysNamed(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `user ${index}`);
}
