/**
 * Real servers for tests: each on a free port of the loopback interface, with a folder of its own.
 *
 * Invariant: a server does not outlive the process that started it. A guard process waits for the end of a pipe whose
 * other end only that process holds, so it does not matter how the process ends.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';

export interface Kind {
  readonly name: 'redis' | 'valkey';
  readonly version: string;
  readonly path: string;
}

/** The same folder for the source and the compiled file. */
const brought = fileURLToPath(import.meta.url).replace(
  /(?<=\/pointsman\/tests\/).*/,
  'servers/.servers',
);

export interface ServerOptions {
  /** Arguments after the server's usual ones, which they override. */
  readonly args?: readonly string[];
  /** One of `availableServers()`; default: the first. */
  readonly kind?: Kind;
  /** Makes a cluster of this one node, which owns all slots. */
  readonly cluster?: boolean;
  /** Starts a sentinel that watches a primary, named `primary`, at this port. */
  readonly sentinelOf?: number;
}

/**
 * Every available server: the one named by POINTSMAN_REDIS_SERVER, those on the PATH, and those that `make servers`
 * installs.
 */
export function availableServers(): Kind[] {
  const named = process.env.POINTSMAN_REDIS_SERVER;
  const paths = [...(named ? [named] : []), 'redis-server', 'valkey-server'];
  if (statSync(brought, { throwIfNoEntry: false })?.isDirectory()) {
    paths.push(...readdirSync(brought).map((name) => join(brought, name)));
  }
  const kinds = new Map<string, Kind>();
  for (const path of paths) {
    const { stdout, error } = spawnSync(path, ['--version'], { encoding: 'utf8' });
    const version = error ? undefined : /v=(\S+)/.exec(stdout)?.[1];
    if (!version) {
      if (path === named)
        throw new Error(`POINTSMAN_REDIS_SERVER=${named} is not a server: ${error}`);
      continue;
    }
    const name = stdout.startsWith('Valkey') ? 'valkey' : 'redis';
    const id = `${name} ${version}`;
    if (!kinds.has(id)) kinds.set(id, { name, version, path });
  }
  return [...kinds.values()];
}

export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const kind = options.kind ?? availableServers()[0];
  if (!kind) {
    throw new Error(
      'These tests need redis-server or valkey-server; Debian has it in redis-server',
    );
  }
  for (let attempt = 1; ; attempt++) {
    const server = new Server(kind, await freePort(), options);
    try {
      await server.restart();
      return server;
    } catch (error) {
      await server.stop();
      // Another process may have taken the port in the meantime.
      if (attempt === 5) throw error;
    }
  }
}

export class Server {
  readonly kind: Kind;
  readonly port: number;
  readonly url: string;
  /** Its working directory and its files. */
  readonly folder = mkdtempSync(join(tmpdir(), 'pointsman-server-'));
  readonly args: readonly string[];
  readonly #cluster: boolean;
  readonly #config: string | undefined;
  #process: ChildProcess | undefined;
  #guard: ChildProcess | undefined;
  #client: Redis | undefined;

  constructor(kind: Kind, port: number, { args = [], cluster = false, sentinelOf }: ServerOptions) {
    this.kind = kind;
    this.port = port;
    this.url = `redis://127.0.0.1:${port}`;
    this.#cluster = cluster;
    this.#config =
      sentinelOf === undefined
        ? undefined
        : `sentinel monitor primary 127.0.0.1 ${sentinelOf} 1\nsentinel down-after-milliseconds primary 500\n`;
    this.args = [
      ...(sentinelOf === undefined ? [] : [join(this.folder, 'sentinel.conf'), '--sentinel']),
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', this.folder],
      ...['--save', '', '--appendonly', 'no'],
      // A single node does not know its address, and clients skip a node without one.
      ...(cluster ? ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'] : []),
      ...args,
    ];
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Sends a command over a connection of its own. */
  command(name: string, ...parameters: (string | number)[]): Promise<unknown> {
    if (!this.#client) throw new Error('the server is not running');
    return this.#client.call(name, ...parameters);
  }

  pause(): void {
    this.#process?.kill('SIGSTOP');
  }

  resume(): void {
    this.#process?.kill('SIGCONT');
  }

  /** Ends the process with `kill -9`; `restart` may follow. */
  async kill(): Promise<void> {
    this.#client?.disconnect();
    this.#client = undefined;
    const server = this.#process;
    this.#process = undefined;
    if (server && server.exitCode === null && server.signalCode === null) {
      server.kill('SIGKILL');
      await once(server, 'exit');
    }
    this.#guard?.kill('SIGKILL');
    this.#guard = undefined;
  }

  /** Starts it again on the same port, with its files or, by default, without data. */
  async restart({ keepData = false } = {}): Promise<void> {
    await this.kill();
    if (!keepData) rmSync(this.folder, { recursive: true, force: true });
    mkdirSync(this.folder, { recursive: true });
    if (this.#config !== undefined) writeFileSync(join(this.folder, 'sentinel.conf'), this.#config);
    const server = spawn(this.kind.path, this.args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#process = server;
    if (server.pid === undefined) throw (await once(server, 'error'))[0];
    this.#guard = spawn(
      '/bin/sh',
      ['-c', 'read -r _; kill -9 "$0"; rm -rf "$1"', String(server.pid), this.folder],
      // Signals to the terminal's process group must not reach the guard.
      { stdio: ['pipe', 'ignore', 'ignore'], detached: true },
    );
    await started(server);
    this.#client = new Redis(this.port, '127.0.0.1', {
      maxRetriesPerRequest: null,
      password: this.#option('--requirepass'),
      retryStrategy: () => 20,
    });
    this.#client.on('error', () => {});
    if (this.#cluster) await this.#takeSlots();
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #option(name: string): string | undefined {
    return this.args[this.args.indexOf(name) + 1 || this.args.length];
  }

  async #takeSlots(): Promise<void> {
    if (/cluster_slots_assigned:0\b/.test(String(await this.command('CLUSTER', 'INFO')))) {
      await this.command('CLUSTER', 'ADDSLOTS', ...Array(16_384).keys());
    }
    while (!/cluster_state:ok/.test(String(await this.command('CLUSTER', 'INFO')))) await delay(10);
  }
}

/** Resolves when the server accepts commands; rejects with its output if it ends before. */
async function started(server: ChildProcess): Promise<void> {
  let output = '';
  await new Promise<void>((resolve, reject) => {
    const read = (text: Buffer): void => {
      output += text;
      if (/Ready to accept connections|Sentinel ID is/.test(output)) resolve();
    };
    server.stdout?.on('data', read);
    server.stderr?.on('data', read);
    server.once('exit', () => reject(new Error(`the server did not start:\n${output}`)));
  });
  for (const stream of [server.stdout, server.stderr]) stream?.removeAllListeners('data').resume();
}

/** Low enough that the port of a cluster's bus, 10,000 above, is valid too. */
async function freePort(): Promise<number> {
  for (;;) {
    const listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as { port: number };
    listener.close();
    await once(listener, 'close');
    if (port <= 55_535) return port;
  }
}
