/**
 * The server of a run: a redis-server (or valkey-server) on a free loopback port, without persistence. All cells use it,
 * one after another.
 *
 * Invariant: it has been up for longer than a lease before the first measurement. A lock on a server that has just started
 * waits for leases that the server may have lost, and no table should measure that. The server ends with the process that
 * started it.
 */
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Table } from './table.js';

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Server {
  readonly address: Address;
  readonly process: number;
}

/** The lease of locks in the table `lock`, in milliseconds. */
const defaultLeaseSeconds = 5;

const programs = ['redis-server', 'valkey-server'];
const mostAttempts = 5;

/** Returns the first of the programs on PATH that runs, and its version. */
export function findServer(): { readonly program: string; readonly version: string } {
  for (const program of programs) {
    const { stdout, status } = spawnSync(program, ['--version'], { encoding: 'utf8' });
    const version = /\bv=(\S+)/.exec(stdout ?? '')?.[1];
    if (status === 0 && version !== undefined) return { program, version };
  }
  throw new Error(
    `${programs.join(' or ')}: expected one of them on PATH; Debian's package is redis-server`,
  );
}

/** Waits for this many seconds, and reports that. */
export async function startServer(
  report: (line: string) => void,
  leaseSeconds = defaultLeaseSeconds,
): Promise<Server> {
  const { program } = findServer();
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const child = spawn(
      program,
      [
        ...['--bind', '127.0.0.1', '--port', String(port), '--dir', tmpdir()],
        ...['--save', '', '--appendonly', 'no', '--loglevel', 'notice'],
      ],
      { stdio: ['ignore', 'pipe', 'ignore'] },
    );
    process.once('exit', () => child.kill('SIGKILL'));
    const words: string[] = [];
    if (await isReady(child, words)) {
      // The server ends with this process, which therefore must not wait for it.
      child.unref();
      if (child.stdout instanceof Socket) child.stdout.unref();
      // The server counts its uptime in whole seconds.
      const seconds = leaseSeconds + 1;
      report(`${program} has started, and must be up for ${seconds} s`);
      await sleep(seconds * 1_000);
      return { address: { host: '127.0.0.1', port }, process: child.pid ?? 0 };
    }
    // Another program may have taken the port meanwhile.
    if (attempt === mostAttempts) throw new Error(`${program}: ${words.at(-1) ?? 'said nothing'}`);
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port is free');
  return address.port;
}

async function isReady(
  child: ChildProcessByStdio<null, Readable, null>,
  words: string[],
): Promise<boolean> {
  for await (const line of createInterface({ input: child.stdout })) {
    words.push(line);
    if (/ready to accept connections/i.test(line)) {
      child.stdout.resume();
      return true;
    }
  }
  return false;
}

const variable = 'LAB_LOCK_SERVER';

/** Passes the server's address to the cells, which are children of this process. */
function announce({ host, port }: Address): void {
  process.env[variable] = `${host}:${port}`;
}

export function announcedAddress(): Address {
  const [host, port] = process.env[variable]?.split(':') ?? [];
  if (!host || !port) throw new Error(`${variable}: expected it set by the table's preparation`);
  return { host, port: Number(port) };
}

/** A table whose cells use one server, which its preparation starts. */
export function onOneServer(table: Omit<Table, 'otherVersions' | 'prepare'>): Table {
  return {
    ...table,
    get otherVersions() {
      const { program, version } = findServer();
      return { [program]: version };
    },
    async prepare(report) {
      const { address, process } = await startServer(report);
      announce(address);
      return { processes: [process] };
    },
  };
}
