/** Where a cluster keeps a key. */

/** The slot of a key: CRC16 (XMODEM) of its hash tag, or of all of it where it has none. */
export function slotOf(key: string): number {
  const hashed = /\{([^}]+)\}/.exec(key);
  const tag = hashed && key.indexOf('{') === hashed.index ? (hashed[1] as string) : key;
  let sum = 0;
  for (const byte of new TextEncoder().encode(tag)) {
    sum ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) sum = (sum << 1) ^ (sum & 0x8000 ? 0x11021 : 0);
  }
  return sum & 0x3fff;
}

/** Settles with the promise, however that does, or after a second without it. */
export async function withinASecond(promise: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([
    promise.catch(() => {}),
    new Promise((resolve) => {
      timer = setTimeout(resolve, 1_000);
    }),
  ]);
  clearTimeout(timer);
}
