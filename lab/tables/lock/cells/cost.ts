/** What work costs: processor time of this process in seconds, and commands of the server. */
import type { Redis } from 'ioredis';

export interface Cost {
  readonly user: number;
  readonly system: number;
  /** All commands of the server, including those inside scripts. No other subject may use the server meanwhile. */
  readonly executed: number;
}

export async function costOf<Found>(
  control: Redis,
  work: () => Promise<Found>,
): Promise<readonly [Found, Cost]> {
  const executedBefore = await commandsExecuted(control);
  const usedBefore = process.cpuUsage();
  const found = await work();
  const { user, system } = process.cpuUsage(usedBefore);
  // The server counts the first INFO only after it has replied.
  const executed = (await commandsExecuted(control)) - executedBefore - 1;
  return [found, { user: user / 1e6, system: system / 1e6, executed }];
}

/** The number of commands that the server has executed since its start. */
async function commandsExecuted(control: Redis): Promise<number> {
  const found = /total_commands_processed:(\d+)/.exec(await control.info('stats'));
  return Number(found?.[1]);
}
