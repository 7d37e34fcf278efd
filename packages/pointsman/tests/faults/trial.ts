/**
 * One server, client processes that use the lock on it, and the faults applied to them.
 *
 * Invariant: `end` waits for every request to settle, and the judge gets the histories of all processes, those of
 * killed ones included.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Proxy as NetworkProxy, startProxy } from '../servers/proxy.js';
import { type Server, type ServerOptions, startServer } from '../servers/server.js';
import type { Work } from './client/calls.js';
import { ClientProcess } from './client/process.js';
import { type History, type Hold, now, type OpenRequest } from './history.js';
import { judge, type Kind, type Violation } from './judge.js';
import { keysOf } from './keys.js';
import { type Outcome, summed } from './outcome.js';
import type { Primitive, Setting, Waiting } from './subjects/subject.js';

/** The parameters of a trial. */
export interface Terms {
  /** The module of the judged lock. */
  readonly subject: string;
  readonly primitive: Primitive;
  readonly handler: Setting['handler'];
  readonly ttl: number;
  /** How many times the fault happens. */
  readonly count: number;
}

interface Event {
  readonly at: number;
  readonly text: string;
}

/** The maximum number of violations of a trial that are described in full. */
const mostTraces = 5;
/** How late processes and timers may be on a busy machine, in milliseconds. */
export const lateness = 1_000;
/** How long the detection of a connection that was half-open from the beginning may take, in milliseconds. */
const connecting = 3_000;

export class Trial {
  readonly terms: Terms;
  /** The running ones. */
  readonly clients: ClientProcess[] = [];
  readonly #all: ClientProcess[] = [];
  readonly #proxies = new Map<ClientProcess, NetworkProxy>();
  readonly #folder: string;
  readonly #startedAt = now();
  readonly #events: Event[] = [];
  readonly #violations: Violation[] = [];
  readonly #counts: Record<string, number> = {};
  readonly #samples: Record<string, number[]> = {};
  /** Empty if the processes are their own store. */
  readonly #servers: Server[];
  #lastIndex = -1;
  #rejected: Record<string, number> = {};
  #histories: readonly History[] = [];

  private constructor(terms: Terms, servers: Server[], folder: string) {
    this.terms = terms;
    this.#servers = servers;
    this.#folder = folder;
  }

  static async run(
    terms: Terms,
    body: (trial: Trial) => Promise<Outcome>,
    options?: ServerOptions,
  ): Promise<Outcome> {
    const folder = await mkdtemp(join(tmpdir(), 'pointsman-faults-'));
    const servers = terms.handler === 'host' ? [] : [await startServer(options)];
    const trial = new Trial(terms, servers, folder);
    try {
      return await body(trial);
    } finally {
      await trial.#stop();
    }
  }

  /** The server that the clients are connected to. */
  get server(): Server {
    return this.#servers.at(-1) as Server;
  }

  /** Connects all clients to another server. */
  moveTo(server: Server): void {
    this.#servers.push(server);
    for (const proxy of this.#proxies.values()) {
      proxy.pointAt(server.port);
      proxy.cut();
    }
  }

  /** Client processes alternate in client library and mode. */
  async addClient({ proxied = false } = {}): Promise<ClientProcess> {
    this.#lastIndex += 1;
    const index = this.#lastIndex;
    const name = `client-${index}`;
    const proxy = proxied ? await startProxy(this.server.port) : undefined;
    const { subject, primitive, handler, ttl } = this.terms;
    const setting: Setting = {
      primitive,
      port: proxy?.port ?? this.#servers.at(-1)?.port ?? 0,
      directory: this.#folder,
      library: index % 4 < 2 ? 'ioredis' : 'node-redis',
      mode: index % 2 === 0 ? 'local' : 'strict',
      ttl,
      handler,
      name,
    };
    const history = join(this.#folder, name);
    const client = await ClientProcess.start({ subject, setting, history });
    if (proxy) this.#proxies.set(client, proxy);
    this.#all.push(client);
    this.clients.push(client);
    return client;
  }

  addClients(count: number, options?: { proxied?: boolean }): Promise<ClientProcess[]> {
    return Promise.all(Array.from({ length: count }, () => this.addClient(options)));
  }

  /** Starts the same work in all clients. */
  async work(work: Work): Promise<void> {
    await Promise.all(this.clients.map((client) => client.call('work', work)));
  }

  proxyOf(client: ClientProcess): NetworkProxy {
    const proxy = this.#proxies.get(client);
    if (!proxy) throw new Error(`${client.name} is connected directly`);
    return proxy;
  }

  async kill(client: ClientProcess): Promise<void> {
    this.note(`kill -9 ${client.name}`);
    this.clients.splice(this.clients.indexOf(client), 1);
    await client.kill();
  }

  /** Adds a line to the trace of a violation. */
  note(text: string): void {
    this.#events.push({ at: now(), text });
  }

  count(name: string, times = 1): void {
    this.#counts[name] = (this.#counts[name] ?? 0) + times;
  }

  sample(name: string, milliseconds: number): void {
    this.#samples[name] ??= [];
    this.#samples[name].push(milliseconds);
  }

  violation(kind: Kind, text: string, ...holds: Hold[]): void {
    this.#violations.push({ kind, text, at: holds[0]?.entered ?? now(), holds });
  }

  /** Ends the work of a client; each of its requests has to settle within a bounded time. */
  async settle(client: ClientProcess, limit = 4 * this.terms.ttl + 8 * lateness): Promise<void> {
    try {
      const pending = await client.call('drain', limit);
      if (pending.length === 0) return;
      const { keys, milliseconds } = pending.reduce((one, other) =>
        other.milliseconds > one.milliseconds ? other : one,
      );
      const { held, waiting } = await client.call('query');
      const entries = (kind: string, list: readonly Waiting[]) => {
        const same = list.filter((entry) => entry.keys.some((key) => keys.includes(key)));
        const some = same.slice(0, 5).map((entry) => `${entry.session} ${named(entry.keys)}`);
        return `${same.length} ${kind}${same.length > 0 ? ` (${some.join(', ')})` : ''}`;
      };
      const text = `${pending.length} requests of ${client.name} are not answered`;
      const oldest = `one for ${named(keys)} since ${milliseconds.toFixed()} ms`;
      const known = `${entries('holders', held)}, ${entries('waiters', waiting)}`;
      this.violation('stranded', `${text}, ${oldest}; the server knows of these keys ${known}`);
    } catch (error) {
      this.violation('odd', `${client.name} did not drain: ${error}`);
    }
  }

  /**
   * After the faults: no request may remain waiting, and nothing may remain on the server. Returns all holds, those of
   * killed processes included.
   */
  async finish(): Promise<Hold[]> {
    this.note('no more faults');
    await Promise.all(this.clients.map((client) => this.settle(client)));
    await Promise.all(this.clients.map((client) => this.#prove(client)));
    const figures = await Promise.all(this.clients.map((client) => client.call('figures')));
    this.#rejected = summed(figures.map(({ rejected }) => rejected));
    if (this.#servers.length === 0) await this.#expectNothingHeld();
    await Promise.all(this.clients.map((client) => this.#close(client)));
    await Promise.all(this.clients.map((client) => client.kill()));
    await this.#expectNothingLeft();
    this.#histories = this.#all.map((client) => client.history());
    return this.#histories.flatMap(({ holds }) => holds);
  }

  /** The requests of all processes that were never granted; known after {@link finish}. */
  get open(): OpenRequest[] {
    return this.#histories.flatMap(({ open }) => open);
  }

  /** Some faults excuse what would otherwise be a violation. */
  outcome(excused: readonly Kind[] = []): Outcome {
    const { violations, staleWritesRefused } = judge(this.#histories);
    const found = [...this.#violations, ...violations].map((violation, index) => ({
      kind: violation.kind,
      trace: index < mostTraces ? this.#trace(violation) : violation.text,
    }));
    const holds = this.#histories.flatMap((history) => history.holds);
    const longest = holds.reduce(
      (most, { entered, requested }) => Math.max(most, entered - requested),
      0,
    );
    return {
      violations: found.filter(({ kind }) => !excused.includes(kind)),
      excused: found.filter(({ kind }) => excused.includes(kind)),
      entered: holds.length,
      overtaken: holds.filter(({ atEntry }) => atEntry === 'overtaken').length,
      staleWritesRefused,
      longestWait: longest / 1e6,
      rejected: this.#rejected,
      counts: this.#counts,
      samples: this.#samples,
    };
  }

  async #stop(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.kill()));
    await Promise.all([...this.#proxies.values()].map((proxy) => proxy.stop()));
    await Promise.all(this.#servers.map((server) => server.stop()));
    await rm(this.#folder, { recursive: true });
  }

  /** Without this check, a lock that rejected every request would break no promise. */
  async #prove(client: ClientProcess): Promise<void> {
    const keySets = [0, 1, 2].map((group) => keysOf(group, this.terms.primitive));
    const limit = 3 * this.terms.ttl + connecting + 2 * lateness;
    if (!(await client.call('prove', keySets, limit))) {
      const text = `${client.name} got no lock within ${limit} ms when everything was well again`;
      this.violation('stranded', text);
    }
  }

  async #close(client: ClientProcess): Promise<void> {
    const limit = this.terms.ttl + 2 * lateness;
    const closed = client.call('close').then(
      () => undefined,
      (error) => this.violation('odd', `${client.name} did not close: ${error}`),
    );
    const late = await Promise.race([closed, sleep(limit, 'late', { ref: false })]);
    if (late) this.violation('slow', `close() of ${client.name} took more than ${limit} ms`);
  }

  /** The processes keep the state, so it is asked for before they close. */
  async #expectNothingHeld(): Promise<void> {
    const until = performance.now() + 3 * this.terms.ttl + lateness;
    for (;;) {
      const state = await this.clients[0]?.call('query');
      if (state === undefined || state.held.length + state.waiting.length === 0) return;
      if (performance.now() > until) {
        this.violation(
          'leak',
          `3 ttl after the last release the server has ${JSON.stringify(state)}`,
        );
        return;
      }
      await sleep(20);
    }
  }

  async #expectNothingLeft(): Promise<void> {
    if (this.#servers.length === 0) return;
    const until = performance.now() + 3 * this.terms.ttl + lateness;
    while ((await this.server.command('DBSIZE')) !== 0) {
      if (performance.now() > until) {
        const names = await this.server.command('KEYS', '*');
        this.violation('leak', `3 ttl after the last close the server still has ${names}`);
        return;
      }
      await sleep(20);
    }
  }

  #trace({ kind, text, at = now(), holds = [] }: Violation): string {
    const from = Math.min(at, ...holds.map(({ requested }) => requested)) - 2e6 * this.terms.ttl;
    const until = Math.max(at, ...holds.map((hold) => hold.lastValid ?? hold.entered));
    const around =
      holds.length > 0
        ? this.#events.filter((event) => event.at >= from && event.at <= until)
        : this.#events.filter((event) => event.at <= at).slice(-5);
    return [
      `${kind}: ${text} (${this.terms.handler}, at ${this.#time(at)})`,
      ...holds.map((hold) => `  ${this.#describe(hold)}`),
      ...around.map((event) => `  ${this.#time(event.at)} ${event.text}`),
    ].join('\n');
  }

  #describe(hold: Hold): string {
    const client = this.#all.find(({ name }) => name === hold.client);
    return [
      `${hold.client} (${client?.setting.library}, ${client?.setting.mode}) hold ${hold.id} of ${named(hold.keys)}${sharing(hold)}`,
      `token ${hold.token}`,
      `requested ${this.#time(hold.requested)}`,
      `entered ${this.#time(hold.entered)} ${hold.atEntry}`,
      `last seen valid ${this.#time(hold.lastValid)}`,
      `signal ${this.#time(hold.lost)}`,
      `left ${this.#time(hold.left)}`,
    ].join(', ');
  }

  #time(at: number | undefined): string {
    return at === undefined ? 'never' : `+${((at - this.#startedAt) / 1e6).toFixed(3)} ms`;
  }
}

function sharing({ share, downgraded }: Hold): string {
  if (share !== undefined) return ` with ${share.weight} of ${share.limit || 'any'}`;
  return downgraded === undefined ? '' : ' alone, later shared';
}

function named(keys: readonly string[]): string {
  return keys.length > 20 ? `${keys.length} keys` : keys.join();
}
