/**
 * The conditions in which rows with sleeping threads are measured. Quiet: the lab runs no other program, so idle cores
 * sleep and a wake-up is slow. One core busy: another process keeps a core busy. All cores busy: one such process per
 * core.
 *
 * Invariant: the busy processes are children of this one, which waits for them, so their time counts as the lab's own.
 * Each has its own session, so the system schedules it as an unrelated program, unless the condition asks otherwise.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

export const conditions = ['quiet', 'one core busy', 'all cores busy'] as const;
export type Condition = (typeof conditions)[number];

export const conditionWords: Readonly<Record<Condition, string>> = {
  quiet: 'No other program runs, so idle cores sleep.',
  'one core busy': 'Another process keeps a core busy.',
  'all cores busy': 'Other processes keep every core busy.',
};

export interface Running {
  /** The ids of the busy processes. */
  readonly processes: readonly number[];
  end(): Promise<void>;
}

const busyProcesses: Readonly<Record<Condition, number>> = {
  quiet: 0,
  'one core busy': 1,
  'all cores busy': availableParallelism(),
};

const program = fileURLToPath(new URL('./keep-busy.js', import.meta.url));

/**
 * Linux may share the cores evenly between sessions, regardless of priorities. Where priorities are measured, the busy
 * processes stay in the session of this process.
 */
export async function begin(
  condition: Condition,
  session: 'own' | 'shared' = 'own',
): Promise<Running> {
  const running = await Promise.all(
    Array.from({ length: busyProcesses[condition] }, () => startBusyProcess(session)),
  );
  return {
    processes: running.map(({ id }) => id),
    async end() {
      await Promise.all(running.map((busy) => busy.end()));
    },
  };
}

async function startBusyProcess(session: 'own' | 'shared') {
  const child = spawn(process.execPath, [program, String(process.pid)], {
    detached: session === 'own',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit');
  await Promise.race([once(child.stdout, 'data'), ended]);
  if (child.pid === undefined) throw new Error('the process that keeps a core busy did not start');
  return {
    id: child.pid,
    async end() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
