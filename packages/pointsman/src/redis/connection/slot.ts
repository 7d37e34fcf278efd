/** Where a cluster keeps a key. */

const encoder = new TextEncoder();

/** What is hashed of a key: what stands between its first `{` and the next `}`, or all of it where that is nothing. */
function tagOf(key: string): string {
  const start = key.indexOf('{') + 1;
  const end = key.indexOf('}', start);
  return start > 0 && end > start ? key.slice(start, end) : key;
}

/** The slot of a key: CRC16 (XMODEM) of what is hashed of it. */
export function slotOf(key: string): number {
  let sum = 0;
  for (const byte of encoder.encode(tagOf(key))) {
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
