/**
 * The two conditions in which tables that sleep and wake are measured. Quiet: nobody else, so a core
 * falls asleep when its thread waits, and waking it takes long. Loaded: another process keeps a core
 * busy, as an ordinary program does.
 *
 * Invariant: the busy process is a child of this one, which waits for its end, so its time counts as
 * the lab's own. It has a session of its own, so the system shares the cores with it as with a
 * stranger.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export const conditions = ['quiet', 'loaded'] as const;
export type Condition = (typeof conditions)[number];

export interface Running {
  /** The ids of the processes that make the condition. */
  readonly processes: readonly number[];
  end(): Promise<void>;
}

const program = fileURLToPath(new URL('./keep-busy.js', import.meta.url));

export async function begin(condition: Condition): Promise<Running> {
  if (condition === 'quiet') return { processes: [], end: async () => {} };
  const child = spawn(process.execPath, [program], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit');
  await Promise.race([once(child.stdout, 'data'), ended]);
  return {
    processes: child.pid === undefined ? [] : [child.pid],
    async end() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
