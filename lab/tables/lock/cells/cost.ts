/** What work costs: processor time of this process in seconds, and commands. */
import type { Redis } from 'ioredis';
import { commandsExecuted, commandsSent } from '../commands.js';

export interface Cost {
  readonly user: number;
  readonly system: number;
  readonly sent: number;
  /** By the whole server: no other subject may send commands meanwhile. */
  readonly executed: number;
}

export async function costOf<Found>(
  control: Redis,
  work: () => Promise<Found>,
): Promise<readonly [Found, Cost]> {
  const executedBefore = await commandsExecuted(control);
  const sentBefore = commandsSent();
  const usedBefore = process.cpuUsage();
  const found = await work();
  const { user, system } = process.cpuUsage(usedBefore);
  const sent = commandsSent() - sentBefore;
  // The server counts the first INFO only after it has replied.
  const executed = (await commandsExecuted(control)) - executedBefore - 1;
  return [found, { user: user / 1e6, system: system / 1e6, sent, executed }];
}
