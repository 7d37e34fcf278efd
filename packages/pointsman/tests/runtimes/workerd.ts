/** Cloudflare's workerd, from npm. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { type Runtime, timeLimit, versionOf } from './runtime.js';

const compatibilityDate = '2026-01-01';

const config = (module: string, flags: readonly string[]) => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "tests", worker = (
    modules = [(name = "tests.js", esModule = embed "${module}")],
    bindings = [(name = "self", service = "tests")],
    compatibilityDate = "${compatibilityDate}",
    compatibilityFlags = ${JSON.stringify(flags)},
  ))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "tests")],
);
`;

export const workerd: Runtime = {
  name: 'workerd',
  entry: 'worker',
  find() {
    try {
      return { path: createRequire(import.meta.url)('workerd').default };
    } catch (error) {
      return { missing: String(error) };
    }
  },
  async run(path, bundle, onLine) {
    await serve(path, bundle, onLine);
    return versionOf(path);
  },
};

/** Sends one request to a worker and returns the lines of its response. */
export async function serve(
  path: string,
  bundle: string,
  onLine: (line: string) => void,
  flags: readonly string[] = [],
): Promise<void> {
  const configPath = join(dirname(bundle), 'workerd.capnp');
  await writeFile(configPath, config(basename(bundle), flags));
  const server = spawn(path, ['serve', configPath, '--control-fd=3'], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  });
  const timer = setTimeout(() => server.kill('SIGKILL'), timeLimit);
  try {
    const response = await fetch(`http://127.0.0.1:${await portOf(server.stdio[3] as Readable)}`);
    const body = Readable.fromWeb(response.body as never);
    for await (const line of createInterface(body)) onLine(line);
  } finally {
    clearTimeout(timer);
    server.kill('SIGKILL');
    await once(server, 'close');
  }
}

/** workerd reports its port on the control pipe. */
async function portOf(control: Readable): Promise<number> {
  for await (const line of createInterface(control)) {
    const event = JSON.parse(line);
    if (event.event === 'listen') return event.port;
  }
  throw new Error('workerd ended before it listened');
}
