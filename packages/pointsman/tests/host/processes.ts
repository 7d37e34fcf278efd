/** Processes that share a namespace on this machine, each with a folder of its own to meet in. */
import { type ChildProcess, fork } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { HostOptions } from 'pointsman/host';
import { onTestFinished } from 'vitest';

const script = fileURLToPath(new URL('./process.mjs', import.meta.url));

/** A folder that is deleted after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-host-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The folder of the only namespace in a directory. */
export const folderIn = (directory: string): string =>
  join(directory, readdirSync(directory)[0] as string);

export interface Header {
  readonly address: string;
  readonly secret: string;
  readonly version: number;
}

/** The epoch and the header of the current journal. */
export function currentServer(folder: string): { epoch: number; header: Header } {
  const epochs = readdirSync(folder).filter((name) => /^\d+$/.test(name));
  const epoch = Math.max(...epochs.map(Number));
  const bytes = readFileSync(join(folder, `${epoch}`));
  const header = JSON.parse(bytes.toString('utf8', 4, 4 + bytes.readUInt32LE()));
  return { epoch, header };
}

export interface ProcessOptions extends HostOptions {
  readonly namespace?: string;
  readonly mode?: 'local' | 'strict';
  readonly uid?: number;
}

export class Process {
  readonly child: ChildProcess;
  readonly #pending = new Map<number, (answer: { value?: unknown; error?: string }) => void>();
  #number = 0;

  private constructor({ uid, ...options }: ProcessOptions) {
    const given = { namespace: 'test', mode: 'strict', ...options };
    this.child = fork(script, [JSON.stringify(given)], { execArgv: [], ...(uid && { uid }) });
    this.child.on('message', ({ number, ...answer }: { number: number }) => {
      this.#pending.get(number)?.(answer);
      this.#pending.delete(number);
    });
    // A stopped process gets this signal too.
    onTestFinished(() => void this.child.kill('SIGKILL'));
  }

  static async start(options: ProcessOptions): Promise<Process> {
    const process = new Process(options);
    await new Promise<unknown>((resolve) => process.#pending.set(0, resolve));
    return process;
  }

  async call(name: string, ...values: unknown[]): Promise<unknown> {
    const number = ++this.#number;
    const answer = new Promise<{ value?: unknown; error?: string }>((resolve) => {
      this.#pending.set(number, resolve);
    });
    this.child.send({ number, name, values });
    const { value, error } = await answer;
    if (error !== undefined) throw new Error(error);
    return value;
  }

  lock(keys: string | string[], terms?: { timeout?: number }): Promise<number> {
    return this.call('lock', keys, terms ?? {}) as Promise<number>;
  }

  release(keys: string | string[]): Promise<unknown> {
    return this.call('release', keys);
  }

  async query(): Promise<{ held: { keys: string[] }[]; waiting: { keys: string[] }[] }> {
    return (await this.call('query')) as never;
  }

  async kill(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    const exit = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill(signal);
    if (signal === 'SIGKILL') await exit;
    // The threads of a process stop one after another, and the one that serves may be the last.
    while (signal === 'SIGSTOP' && this.#runs()) await setImmediate();
  }

  /** Whether a thread of the process is not stopped, where the system tells. */
  #runs(): boolean {
    const threads = `/proc/${this.child.pid}/task`;
    if (!existsSync(threads)) return false;
    return readdirSync(threads).some(
      (thread) => !/\) T/.test(readFileSync(`${threads}/${thread}/stat`, 'utf8')),
    );
  }
}
