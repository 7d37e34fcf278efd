/** Waits with a time limit. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Polls until the condition holds. Returns whether it did within the limit. */
export async function until(holds: () => Promise<boolean>, limit = 10_000): Promise<boolean> {
  const giveUpAt = performance.now() + limit;
  while (!(await holds())) {
    if (performance.now() > giveUpAt) return false;
    await sleep(2);
  }
  return true;
}
