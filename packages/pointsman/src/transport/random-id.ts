/** A number from 1 on that no other thread of the program has, most probably. */
export function randomId(): number {
  return 1 + Math.floor(Math.random() * 0x7ffffffe);
}
