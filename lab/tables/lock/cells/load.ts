/** The commands that some turns cost, per turn. */
import type { Redis } from 'ioredis';
import { commandsExecuted, commandsSent } from '../commands.js';

export interface Load {
  readonly sent: number;
  readonly executed: number;
}

/** Counts what happens during the work, apart from what is known to be the work's own. */
export async function loadOf(
  control: Redis,
  work: () => Promise<{ readonly turns: number; readonly ownCommands: number }>,
): Promise<Load> {
  const executedBefore = await commandsExecuted(control);
  const sentBefore = commandsSent();
  const { turns, ownCommands } = await work();
  const sent = commandsSent() - sentBefore;
  // The server counts the first question only when it has answered it.
  const executed = (await commandsExecuted(control)) - executedBefore - 1;
  return { sent: (sent - ownCommands) / turns, executed: (executed - ownCommands) / turns };
}
