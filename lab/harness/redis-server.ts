/**
 * The server of a run: a real redis-server (or valkey-server) on a free port of the loopback
 * interface, which keeps nothing on disk. All cells use it, one after the other.
 *
 * Invariant: it has been up for a while before anything is measured. A lock that finds a server
 * that has just started waits until the leases which that server may have forgotten are over, and no
 * table should measure that. It ends with the process that started it.
 */
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Server {
  readonly address: Address;
  readonly process: number;
}

/** How long a lock of the table `lock` lives without its process; the longest that waits for it. */
const defaultLeaseSeconds = 5;

const programs = ['redis-server', 'valkey-server'];
const mostAttempts = 5;

/** The first of the programs on PATH that runs, and what it calls itself. */
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

/** Takes so many seconds, and says so. */
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
      // It ends with this process, which therefore must not wait for it to end.
      child.unref();
      if (child.stdout instanceof Socket) child.stdout.unref();
      // A server counts its age in whole seconds.
      const seconds = leaseSeconds + 1;
      report(`${program} has started, and must be up for ${seconds} s`);
      await sleep(seconds * 1_000);
      return { address: { host: '127.0.0.1', port }, process: child.pid ?? 0 };
    }
    // Somebody else may have taken the port in between.
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

/** Tells the cells of this run, which are children of this process, where the server is. */
export function announce({ host, port }: Address): void {
  process.env[variable] = `${host}:${port}`;
}

export function announcedAddress(): Address {
  const [host, port] = process.env[variable]?.split(':') ?? [];
  if (!host || !port) throw new Error(`${variable}: expected it set by the table's preparation`);
  return { host, port: Number(port) };
}
