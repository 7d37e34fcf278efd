/**
 * One workerd that serves one bundled worker on a free port of 127.0.0.1.
 *
 * Invariant: it has ended when `stop` has resolved and when this process has exited. It stays in this process's group,
 * which the lab kills as a whole in every other case.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { bundledWorker, type WorkerKind } from './bundle.js';

export interface Compatibility {
  readonly date: string;
  readonly flags?: readonly string[];
}

export interface Server {
  readonly url: string;
  /** The output of workerd on its standard error so far. */
  words(): string;
  /** Its process, which starts and ends no threads while it serves. */
  readonly id: number;
  stop(): Promise<void>;
}

export async function serve(
  kind: WorkerKind,
  name: string,
  compatibility: Compatibility,
): Promise<Server> {
  const configuration = writeConfiguration(kind, name, compatibility);
  // Imported here, because the processes of the other cells do not need it.
  const { default: workerd } = await import('workerd');
  const child = spawn(workerd.default, ['serve', configuration, '--control-fd=3'], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  });
  // Not `exit`, after which the last output may still arrive.
  const ended = once(child, 'close');
  let words = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    words += text;
  });
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);

  async function stop(): Promise<void> {
    kill();
    await ended;
    process.off('exit', kill);
  }

  const port = await Promise.race([listeningPort(child.stdio[3] as Readable), ended]);
  if (typeof port !== 'number') throw new Error(`workerd did not start: ${words.split('\n')[0]}`);
  return {
    url: `http://127.0.0.1:${port}/`,
    words: () => words,
    id: child.pid as number,
    stop,
  };
}

/** workerd reports its port on its control pipe: a line of JSON. */
async function listeningPort(control: Readable): Promise<number> {
  const [line] = await once(createInterface({ input: control }), 'line');
  return JSON.parse(line).port;
}

function writeConfiguration(
  kind: WorkerKind,
  name: string,
  { date, flags = [] }: Compatibility,
): string {
  const worker = bundledWorker(kind, name);
  const path = `${worker}.${[date, ...flags].join('.')}.capnp`;
  // The control's process may read the file at the same time.
  const own = `${path}.${process.pid}`;
  writeFileSync(
    own,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    modules = [(name = "worker.js", esModule = embed "${basename(worker)}")],
    compatibilityDate = "${date}",
    compatibilityFlags = [${flags.map((flag) => `"${flag}"`).join(', ')}],
  ))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`,
  );
  renameSync(own, path);
  return path;
}
