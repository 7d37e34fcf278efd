/** Starts the document's server in a process of its own. Invariant: `stop` resolves after its end. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { LoopDelay, Report } from './server.js';

const program = fileURLToPath(new URL('./server.js', import.meta.url));

export interface RunningServer {
  readonly url: string;
  /** Resets the event loop delay. */
  reset(): void;
  delay(): Promise<LoopDelay>;
  stop(): Promise<void>;
}

export async function startServer(subject: string, cost: number): Promise<RunningServer> {
  const child = fork(program, [subject, String(cost)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const report = await nextReport(child);
  if (!('port' in report)) throw new Error('the server reported no port');
  return {
    url: `http://127.0.0.1:${report.port}`,
    reset: () => void child.send('reset'),
    async delay() {
      const answer = nextReport(child);
      child.send('delay');
      const found = await answer;
      if (!('delay' in found)) throw new Error('the server reported no delay');
      return found.delay;
    },
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function nextReport(child: ChildProcess): Promise<Report> {
  const listening = new AbortController();
  const { signal } = listening;
  const gone = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`the server ended (exit ${code})`);
  });
  try {
    const [report] = await Promise.race([once(child, 'message', { signal }), gone]);
    return report;
  } finally {
    gone.catch(() => {});
    listening.abort();
  }
}
