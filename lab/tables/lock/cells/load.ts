/** The number of commands per turn. */
import type { Redis } from 'ioredis';
import { commandsExecuted, commandsSent } from '../commands.js';

export interface Load {
  readonly sent: number;
  readonly executed: number;
}

/** Counts the commands during the work, without those of the work itself. */
export async function loadOf(
  control: Redis,
  work: () => Promise<{ readonly turns: number; readonly ownCommands: number }>,
): Promise<Load> {
  const executedBefore = await commandsExecuted(control);
  const sentBefore = commandsSent();
  const { turns, ownCommands } = await work();
  const sent = commandsSent() - sentBefore;
  // The server counts the first INFO only after it has replied.
  const executed = (await commandsExecuted(control)) - executedBefore - 1;
  return { sent: (sent - ownCommands) / turns, executed: (executed - ownCommands) / turns };
}
