/** The slots of a cluster. */

const encoder = new TextEncoder();

/** Returns the hashed part of a key: the text between its first `{` and the next `}`, or the whole key if that is empty. */
function tagOf(key: string): string {
  const start = key.indexOf('{') + 1;
  const end = key.indexOf('}', start);
  return start > 0 && end > start ? key.slice(start, end) : key;
}

/** Returns the slot of a key: CRC16 (XMODEM) of its hashed part. */
export function slotOf(key: string): number {
  let sum = 0;
  for (const byte of encoder.encode(tagOf(key))) {
    sum ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) sum = (sum << 1) ^ (sum & 0x8000 ? 0x11021 : 0);
  }
  return sum & 0x3fff;
}

/** Resolves when the promise has settled, or after a second. */
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
