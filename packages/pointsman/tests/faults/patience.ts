/** Waiting that comes to an end. */
import { setTimeout as sleep } from 'node:timers/promises';

export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  limit = 20_000,
): Promise<void> {
  const giveUpAt = performance.now() + limit;
  while (!(await holds())) {
    if (performance.now() > giveUpAt) throw new Error(`waited ${limit} ms in vain until ${what}`);
    await sleep(2);
  }
}
