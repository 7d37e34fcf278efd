/** Waiting that comes to an end. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Whether it held within the time. */
export async function until(holds: () => Promise<boolean>, limit = 10_000): Promise<boolean> {
  const giveUpAt = performance.now() + limit;
  while (!(await holds())) {
    if (performance.now() > giveUpAt) return false;
    await sleep(2);
  }
  return true;
}
