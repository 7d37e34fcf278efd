/**
 * One store, processes that load the limiters of all plans on it, and the faults applied to them.
 *
 * Invariant: the judge gets the logs of all processes, those of killed ones included.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Proxy as NetworkProxy, startProxy } from '../../servers/proxy.js';
import { type Server, type ServerOptions, startServer } from '../../servers/server.js';
import { now } from '../history.js';
import type { Kind, Violation } from '../judge.js';
import { type Outcome, summed, together } from '../outcome.js';
import type { Terms } from '../trial.js';
import { judgeLimiter } from './judge.js';
import { Pauses } from './pauses.js';
import { plans } from './plans.js';
import { LimiterProcess } from './process.js';

/** By how many milliseconds the clocks of a process are ahead of the machine's. */
const ahead = [10_000, 20_000, 0, 13_000];
/** Processes that wait for a turn for more than this share of the time cannot use a limit. */
const busy = 0.02;
/** Longer than any wait of a request. */
const patience = 20_000;

export class LimiterTrial {
  readonly terms: Terms;
  /** The running ones. */
  readonly processes: LimiterProcess[] = [];
  readonly #all: LimiterProcess[] = [];
  readonly #proxies: NetworkProxy[] = [];
  readonly #servers: Server[];
  readonly #folder: string;
  readonly #startedAt = now();
  readonly #events: string[] = [];
  readonly #losses: number[] = [];
  readonly #violations: Violation[] = [];
  readonly #counts: Record<string, number> = {};
  #lastIndex = -1;
  #workedFrom = 0;
  #workedUntil = 0;
  #rejected: Record<string, number> = {};

  private constructor(terms: Terms, servers: Server[], folder: string) {
    this.terms = terms;
    this.#servers = servers;
    this.#folder = folder;
  }

  static async run(
    terms: Terms,
    body: (trial: LimiterTrial) => Promise<Outcome>,
    options?: ServerOptions,
  ): Promise<Outcome> {
    const folder = await mkdtemp(join(tmpdir(), 'pointsman-faults-'));
    const servers = terms.handler === 'host' ? [] : [await startServer(options)];
    const trial = new LimiterTrial(terms, servers, folder);
    try {
      return await body(trial);
    } finally {
      await Promise.all(trial.processes.map((process) => process.kill()));
      await Promise.all(trial.#proxies.map((proxy) => proxy.stop()));
      await Promise.all(trial.#servers.map((server) => server.stop()));
      await rm(folder, { recursive: true });
    }
  }

  get server(): Server {
    return this.#servers.at(-1) as Server;
  }

  /** Connects all processes to another server. */
  moveTo(server: Server): void {
    this.#servers.push(server);
    for (const proxy of this.#proxies) {
      proxy.pointAt(server.port);
      proxy.cut();
    }
  }

  async add(count = 1): Promise<void> {
    const added = Array.from({ length: count }, async () => {
      this.#lastIndex += 1;
      const index = this.#lastIndex;
      const proxy = this.#servers.length > 0 ? await startProxy(this.server.port) : undefined;
      if (proxy) this.#proxies.push(proxy);
      const name = `process-${index}`;
      const { handler, ttl } = this.terms;
      const process = await LimiterProcess.start({
        setting: {
          primitive: 'mutex',
          port: proxy?.port ?? 0,
          directory: this.#folder,
          library: index % 4 < 2 ? 'ioredis' : 'node-redis',
          mode: 'strict',
          ttl,
          handler,
          name,
        },
        plans,
        ahead: ahead[index % ahead.length] ?? 0,
        deadline: 1_000,
        log: join(this.#folder, name),
      });
      this.#all.push(process);
      this.processes.push(process);
      return process;
    });
    await Promise.all(added);
  }

  /** All processes load all limiters. */
  async work(): Promise<void> {
    this.#workedFrom = now();
    await Promise.all(this.processes.map((process) => process.call('work')));
  }

  /** Replaces a process by one that works too. */
  async kill(process: LimiterProcess): Promise<void> {
    this.note(`kill -9 ${process.name}`);
    this.processes.splice(this.processes.indexOf(process), 1);
    await process.kill();
    await this.add();
    await this.processes.at(-1)?.call('work');
  }

  /** The store may have forgotten something; grants that are requested from now on may not know of earlier ones. */
  lost(): void {
    this.#losses.push(now());
  }

  note(text: string): void {
    this.#events.push(`+${((now() - this.#startedAt) / 1e6).toFixed()} ms ${text}`);
  }

  count(name: string, times = 1): void {
    this.#counts[name] = (this.#counts[name] ?? 0) + times;
  }

  violation(kind: Kind, text: string): void {
    this.#violations.push({ kind, text });
  }

  /** Ends the load, closes everything and judges. */
  async finish({ isUseJudged = false, isConcurrencyJudged = true } = {}): Promise<Outcome> {
    this.note('no more faults');
    this.#workedUntil = now();
    await Promise.all(
      this.processes.map(async (process) => {
        const left = await process.call('drain', patience);
        if (left > 0) {
          this.violation('stranded', `${left} requests of ${process.name} were not answered`);
        }
      }),
    );
    const figures = await Promise.all(this.processes.map((process) => process.call('figures')));
    this.#rejected = summed(figures.map(({ rejected }) => rejected));
    await Promise.all(this.processes.map((process) => process.call('close')));
    await Promise.all(this.processes.map((process) => process.kill()));
    return this.#judge(isUseJudged, isConcurrencyJudged);
  }

  #judge(isUseJudged: boolean, isConcurrencyJudged: boolean): Outcome {
    const logs = this.#all.map((process) => process.log());
    const judged = judgeLimiter(plans, logs, {
      losses: this.#losses,
      ttl: isConcurrencyJudged ? this.terms.ttl : undefined,
    });
    this.count('starts', judged.starts);
    this.count('windows judged', judged.windows);
    if (judged.late > 0) this.count('starts late after a pause', judged.late);
    if (this.#losses.length > 0)
      this.count('windows above the limit because of a loss', judged.forgotten);
    const samples: Record<string, number[]> = {};
    const length = this.#workedUntil - this.#workedFrom;
    const waited = Math.max(
      ...logs.map(
        ({ lines }) => new Pauses(lines).between(this.#workedFrom, this.#workedUntil) / length,
      ),
    );
    if (isUseJudged) samples['% of the time without CPU time'] = [waited * 100];
    for (const { name, rate, used } of isUseJudged ? plans : []) {
      const [first] = rate;
      if (used === undefined || first === undefined) continue;
      // The first windows have the start of the processes in them.
      const from = this.#workedFrom + 1e6 * Math.max(first.per, 1_000);
      const windows = Math.floor((this.#workedUntil - from) / 1e6 / first.per);
      if (windows < 1) continue;
      const until = from + windows * first.per * 1e6;
      let sum = 0;
      for (const line of logs.flatMap(({ lines }) => lines)) {
        if (line.kind !== 'start' || line.plan !== name) continue;
        if (line.at >= from && line.at < until) sum += line.weight;
      }
      const share = sum / (windows * first.limit);
      samples[`% of the limit used, ${name}`] = [share * 100];
      if (share < used && waited < busy) {
        this.violation('unused', `${(share * 100).toFixed(1)} % of the limit of ${name} was used`);
      }
    }
    const violations = [...this.#violations, ...judged.violations].map(({ kind, text, at }, i) => {
      const time = at === undefined ? '' : ` at +${((at - this.#startedAt) / 1e6).toFixed()} ms`;
      const events = i < 3 ? this.#events.slice(-20).map((event) => `\n  ${event}`) : [];
      return { kind, trace: `${kind}: ${text} (${this.terms.handler})${time}${events.join('')}` };
    });
    const { rejected, counts } = { rejected: this.#rejected, counts: this.#counts };
    return { ...together([]), violations, rejected, counts, samples };
  }
}
