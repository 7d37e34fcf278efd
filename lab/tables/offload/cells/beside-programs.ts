/**
 * A server's pool beside other programs: the number of jobs that it completes while every core is busy, and the
 * latency of light requests meanwhile.
 *
 * Threads with a lower priority give way to every other program, not only to the server's main thread: on a busy
 * machine their jobs starve, and the event loop alone completes more of them. The programs run in the server's
 * session, as in a container, because the system does not compare priorities across sessions.
 */
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { quantile } from 'simple-statistics';
import { begin } from '../../../harness/condition.js';
import type { Budget, Cell } from '../../../harness/table.js';
import { hashing, native, sync } from '../server/hashing.js';
import { pingDuring } from '../server/ping.js';
import { startServer } from '../server/start.js';
import { unequalIfPolite } from '../subjects/index.js';

const inFlight = 8;
/** A quarter of the document's work, for more jobs to count. */
const cost = 8;
const reportedMilliseconds = 5_000;
/** The duration as a multiple of the budget; 5 s in a thorough run. */
const measuredTimes = 12.5;
const warmUpTimes = 6;

export const besideCell: Cell = {
  id: 'beside programs',
  subjects: hashing.filter((subject) => subject !== native).map(({ name }) => name),
  expectedMilliseconds: 3_000,
  async measure(name, budget) {
    const server = await startServer(name, cost);
    const busy = await begin('all cores busy', 'shared');
    try {
      return { ...(await measureJobs(name, server.url, budget)), ...unequalIfPolite(name) };
    } finally {
      await busy.end();
      await server.stop();
    }
  },
};

async function measureJobs(name: string, url: string, budget: Budget) {
  const jobs = new Jobs(`${url}/${name === sync.name ? 'sync' : 'async'}`);
  try {
    await jobs.perMillisecond(budget.warmupMilliseconds * warmUpTimes);
    const counting = jobs.perMillisecond(budget.measureMilliseconds * measuredTimes);
    // The last pings need not wait for more jobs.
    const pings = await pingDuring(
      url,
      counting.finally(() => jobs.end()),
    );
    return {
      ok: true,
      samples: {
        jobs: [(await counting) * reportedMilliseconds],
        pingMedian: [quantile(pings, 0.5)],
        pingP99: [quantile(pings, 0.99)],
      },
    };
  } finally {
    jobs.end();
  }
}

/** Endless requests, `waiting` of them at any time. */
class Jobs {
  readonly #agent = new Agent({ keepAlive: true });
  #done = 0;
  #isOver = false;
  #failure: unknown;

  constructor(url: string) {
    for (let lane = 0; lane < inFlight; lane++) void this.#goOn(url);
  }

  async #goOn(url: string): Promise<void> {
    try {
      while (!this.#isOver) {
        const body = await get(url, this.#agent);
        if (!body.startsWith('$2')) throw new Error(`answered no hash: ${body}`);
        this.#done += 1;
      }
    } catch (error) {
      if (!this.#isOver) this.#failure = error;
    }
  }

  /** The rate of completed jobs during the given time. */
  async perMillisecond(milliseconds: number): Promise<number> {
    const before = this.#done;
    const startedAt = performance.now();
    await pause(milliseconds);
    if (this.#failure !== undefined) throw this.#failure;
    return (this.#done - before) / (performance.now() - startedAt);
  }

  end(): void {
    this.#isOver = true;
    this.#agent.destroy();
  }
}

function get(url: string, agent: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    request(url, { agent }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text) => {
        body += text;
      });
      response.on('end', () => resolve(body));
      response.on('error', reject);
    })
      .on('error', reject)
      .end();
  });
}
