/** Returns a random integer >= 1. Two threads of a program almost never get the same. */
export function randomId(): number {
  return 1 + Math.floor(Math.random() * 0x7ffffffe);
}
