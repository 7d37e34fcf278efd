/** Runs the document's server in a process of its own. Invariant: `withServer` resolves after the server's end. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Measurement } from '../../../harness/table.js';
import { unequalIfPolite } from '../subjects/index.js';
import { abVersion } from './ab.js';
import { isHash } from './hashing.js';
import type { Report } from './server.js';

const program = fileURLToPath(new URL('./server.js', import.meta.url));

export interface RunningServer {
  /** The URL of the route that hashes. */
  readonly hashUrl: string;
  /** The URL of the light request. */
  readonly pingUrl: string;
  /** The processor time that it has used, with all its threads. */
  usedMicroseconds(): Promise<number>;
}

/** Starts the server, checks its answer, and ends it after `use`, which returns samples. */
export async function withServer(
  subject: string,
  cost: number,
  use: (server: RunningServer) => Promise<Measurement['samples']>,
): Promise<Measurement> {
  if (abVersion() === undefined) {
    const note = 'ab is not here: `make lab TABLE=offload` installs it';
    return { ok: false, unavailable: true, note, samples: {} };
  }
  const child = fork(program, [subject, String(cost)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  try {
    const { port } = await nextReport(child);
    const url = `http://127.0.0.1:${port}`;
    const hashUrl = `${url}/hash`;
    if (!(await isHash(await (await fetch(hashUrl)).text()))) throw new Error('answered no hash');
    const samples = await use({
      hashUrl,
      pingUrl: `${url}/ping`,
      async usedMicroseconds() {
        const report = nextReport(child);
        child.send('report');
        return (await report).usedMicroseconds;
      },
    });
    return { ok: true, samples, ...unequalIfPolite(subject) };
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
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
