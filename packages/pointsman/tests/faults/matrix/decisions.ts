/** Whether a limiter decides by its deadline when its server does not, or refuses. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type Server, type ServerOptions, startServer } from '../../servers/server.js';
import type { Fault } from '../fault.js';
import type { Violation } from '../judge.js';
import type { Plan } from '../limiter/plans.js';
import { LimiterProcess } from '../limiter/process.js';
import { type Outcome, together } from '../outcome.js';
import { until } from '../patience.js';
import { lateness, type Terms } from '../trial.js';

interface Case {
  readonly name: string;
  readonly options?: ServerOptions;
  /** Makes the server useless. Returns how to repair it. */
  spoil(server: Server): Promise<() => Promise<void>>;
}

const withoutDelay = ['--repl-diskless-sync-delay', '0'];
/** Milliseconds. */
const deadline = 100;

/** A process that got no turn for as many milliseconds is not judged. */
const pause = 50;

const rate = [{ name: 'rate', limit: 1_000_000, per: 1_000 }];
const loads = { keys: ['a'], heaviest: 1, waiters: 0, pollers: 0 };
const plans: readonly Plan[] = [
  { name: 'rate', rate, ...loads },
  { name: 'leased', rate, lease: 10, ...loads },
  { name: 'concurrency', rate, concurrency: 100, ...loads },
];

const set = (name: string, value: string, usual: string) => async (server: Server) => {
  await server.command('CONFIG', 'SET', name, value);
  return async () => void (await server.command('CONFIG', 'SET', name, usual));
};

const silent: readonly Case[] = [
  {
    name: 'SIGSTOP',
    async spoil(server) {
      server.pause();
      return async () => server.resume();
    },
  },
  {
    name: 'kill -9',
    async spoil(server) {
      await server.kill();
      return () => server.restart();
    },
  },
  {
    name: 'LOADING',
    options: {
      args: ['--key-load-delay', '10000', '--loading-process-events-interval-bytes', '1024'],
    },
    async spoil(server) {
      const count = 300;
      const pairs = Array.from({ length: count }, (_, i) => [`load:${i}`, 'x'.repeat(1_000)]);
      await server.command('MSET', ...pairs.flat());
      await server.command('SAVE');
      const loaded = server.restart({ keepData: true });
      // The kill, and the beginning of the load.
      await sleep(300);
      return async () => {
        await loaded;
        await server.command('DEL', ...pairs.map(([name]) => name as string));
      };
    },
  },
  {
    name: 'FAILOVER, waiting for the replica',
    options: { args: withoutDelay },
    async spoil(server) {
      const replica = await startServer({ args: ['--replicaof', `127.0.0.1 ${server.port}`] });
      await until(async () =>
        String(await server.command('INFO', 'replication')).includes('state=online'),
      );
      replica.pause();
      await server.command('SET', 'unread', '1');
      await server.command('FAILOVER', 'TO', '127.0.0.1', replica.port);
      return async () => {
        await server.command('FAILOVER', 'ABORT').catch(() => {});
        await replica.stop();
      };
    },
  },
];

const refusing: readonly Case[] = [
  {
    name: 'READONLY',
    async spoil(server) {
      // No server listens there.
      await server.command('REPLICAOF', '127.0.0.1', '1');
      return async () => void (await server.command('REPLICAOF', 'NO', 'ONE'));
    },
  },
  { name: 'OOM', spoil: set('maxmemory', '1', '0') },
  { name: 'NOREPLICAS', spoil: set('min-replicas-to-write', '1', '0') },
  {
    name: 'BUSY',
    async spoil(server) {
      await server.command('CONFIG', 'SET', 'lua-time-limit', '10');
      // The server does not reply on the connection that it is busy for.
      const other = new Redis(server.port, '127.0.0.1');
      other.on('error', () => {});
      const script = other.eval('while true do end', 0).catch(() => {});
      await sleep(50);
      return async () => {
        await until(async () => (await server.command('SCRIPT', 'KILL').catch(() => '')) === 'OK');
        await script;
        other.disconnect();
      };
    },
  },
  {
    name: 'MOVED',
    options: { cluster: true },
    async spoil(server) {
      const args = ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'];
      const other = await startServer({ args });
      await other.command('CLUSTER', 'MEET', '127.0.0.1', server.port);
      const id = String(await other.command('CLUSTER', 'MYID'));
      await until(
        async () =>
          String(await server.command('CLUSTER', 'NODES')).includes(id) &&
          String(await other.command('CLUSTER', 'INFO')).includes('cluster_state:ok'),
      );
      const slot = Number(await server.command('CLUSTER', 'KEYSLOT', '{pointsman}:state'));
      const move = async (to: Server) => {
        const id = String(await to.command('CLUSTER', 'MYID'));
        // The one that gets the slot first, so that it is never without an owner.
        for (const node of to === server ? [server, other] : [other, server]) {
          await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', id);
        }
      };
      await server.command('FLUSHALL');
      await move(other);
      return async () => {
        await other.command('FLUSHALL');
        await move(server);
        await other.stop();
      };
    },
  },
];

async function tryCase(terms: Terms, { name, options, spoil }: Case): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'pointsman-faults-'));
  const server = await startServer(options);
  const violations: Violation[] = [];
  const late: number[] = [];
  let uncounted = 0;
  const rejected: Record<string, number> = {};
  const { handler, ttl } = terms;
  const process = await LimiterProcess.start({
    setting: {
      primitive: 'mutex',
      port: server.port,
      directory: folder,
      library: 'ioredis',
      mode: 'strict',
      ttl,
      handler,
      name: 'process',
    },
    plans,
    ahead: 0,
    deadline,
    log: join(folder, 'log'),
  });
  try {
    const served = () =>
      until(async () => (await process.call('decide')).every(({ error }) => error === undefined));
    for (let times = 0; times < terms.count; times += 1) {
      if (!(await served())) {
        violations.push({ kind: 'stranded', text: `not served before or after ${name}` });
      }
      const repair = await spoil(server);
      for (let round = 0; round < 3; round += 1) {
        for (const { question, milliseconds, error, paused } of await process.call('decide')) {
          // The machine let the process wait.
          if (paused > pause) {
            uncounted += 1;
            continue;
          }
          late.push(Math.max(0, milliseconds - deadline));
          if (error !== undefined) rejected[error] = (rejected[error] ?? 0) + 1;
          if (milliseconds < deadline + lateness) continue;
          const text = `${question} took ${milliseconds.toFixed()} ms (${name})`;
          violations.push({ kind: 'slow', text });
        }
      }
      await repair();
    }
    if (!(await served())) violations.push({ kind: 'stranded', text: `not served after ${name}` });
  } finally {
    await process.kill();
    await server.stop();
    await rm(folder, { recursive: true });
  }
  return {
    ...together([]),
    violations: violations.map(({ kind, text }) => ({ kind, trace: `${kind}: ${text}` })),
    rejected,
    counts: {
      decisions: late.length,
      ...(uncounted > 0 ? { 'decisions of a paused process': uncounted } : {}),
    },
    samples: { [`later than the deadline, ${name}`]: late },
  };
}

function rowOf(number: string, name: string, cases: readonly Case[]): Fault {
  return {
    number,
    name,
    how: `one after another: ${cases.map(({ name }) => name).join(', ')}`,
    holds: `acquire, tryAcquire, check and run settle by the deadline of ${deadline} ms, for limiters with a rate, a lease and a concurrency; after the fault the server decides again`,
    full: { ttl: 1_000, count: 5, trials: ['script', 'pure'] },
    short: { ttl: 1_000, count: 1, trials: ['script'] },
    run: async (terms) => {
      const outcomes: Outcome[] = [];
      for (const each of cases) outcomes.push(await tryCase(terms, each));
      return together(outcomes);
    },
  };
}

export const silentServer = rowOf('g6', 'server does not answer', silent);
export const refusingServer = rowOf('g7', 'server refuses', refusing);
