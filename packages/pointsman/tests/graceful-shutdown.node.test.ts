/** The server of the guide to graceful shutdown, as a process that gets SIGTERM. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { compileInto, type Example, examplesOf, root } from './guides.js';
import { startLockServer } from './servers/lock-server.js';
import type { Server } from './servers/server.js';

const [program] = examplesOf(join(root, 'docs/how-to/graceful-shutdown.md'), 'ts server');
const here = fileURLToPath(new URL('.', import.meta.url));
let redis: Server;

beforeAll(async () => {
  redis = await startLockServer();
}, 30_000);

afterAll(() => redis.stop());

interface Running {
  readonly port: number;
  readonly process: ChildProcess;
  readonly output: Promise<string>;
  readonly errors: Promise<string>;
  readonly exitCode: Promise<number | null>;
}

async function start(env: Record<string, string> = {}): Promise<Running> {
  const folder = mkdtempSync(join(here, '.example-'));
  const script = await compileInto(folder, program as Example);
  const server = spawn(process.execPath, [script], {
    env: { NO_COLOR: '1', REDIS_URL: redis.url, PORT: '0', ...env },
  });
  onTestFinished(() => {
    server.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  });
  const exitCode = once(server, 'exit').then(([code]) => code as number | null);
  const [output, errors] = [text(server.stdout), text(server.stderr)];
  const [line] = await once(server.stdout, 'data');
  const port = Number(/listening on port (\d+)/.exec(String(line))?.[1]);
  return { port, process: server, output, errors, exitCode };
}

/** Begins a request whose handler waits for its body. */
async function begin(port: number): Promise<ClientRequest> {
  const order = request({ port, method: 'POST', headers: { expect: '100-continue' } });
  order.flushHeaders();
  await once(order, 'continue');
  return order;
}

async function finish(order: ClientRequest, body: string): Promise<[IncomingMessage, string]> {
  const answered = once(order, 'response') as Promise<[IncomingMessage]>;
  order.end(body);
  const [response] = await answered;
  return [response, await text(response)];
}

/** Resolves when the port accepts no more connections. */
async function refused(port: number): Promise<void> {
  await vi.waitFor(async () => {
    const socket = connect(port);
    onTestFinished(() => {
      socket.destroy();
    });
    const [error] = await Promise.race([
      once(socket, 'connect').then(() => [undefined]),
      once(socket, 'error'),
    ]).catch((error: unknown) => [error]);
    socket.destroy();
    expect(error).toMatchObject({ code: 'ECONNREFUSED' });
  }, 10_000);
}

test('requests that are under way are answered, queued work is done, and the exit code is 0', async () => {
  const server = await start();
  expect(await finish(await begin(server.port), 'pen')).toMatchObject([
    { statusCode: 200, headers: { connection: 'keep-alive' } },
    'pen: 3 EUR',
  ]);
  const orders = await Promise.all(['apple', 'fig', 'fig'].map(() => begin(server.port)));
  server.process.kill('SIGTERM');
  await refused(server.port);
  const answers = await Promise.all(
    orders.map((order, index) => finish(order, ['apple', 'fig', 'fig'][index] as string)),
  );
  for (const [response] of answers) {
    expect(response).toMatchObject({ statusCode: 200, headers: { connection: 'close' } });
  }
  expect(answers.map(([, body]) => body)).toEqual(['apple: 5 EUR', 'fig: 3 EUR', 'fig: 3 EUR']);
  expect(await server.exitCode).toBe(0);
  expect(await server.errors).toBe('');
  expect((await server.output).split('\n').slice(1, -1).sort()).toEqual([
    'sent apple: 5 EUR',
    'sent fig: 3 EUR',
    'sent fig: 3 EUR',
    'sent pen: 3 EUR',
  ]);
});

test('a request that does not end is cut off at the limit, and the exit code is 1', async () => {
  const server = await start({ SHUTDOWN_LIMIT: '50' });
  const order = await begin(server.port);
  const cut = once(order, 'error');
  server.process.kill('SIGTERM');
  expect(await cut).toMatchObject([{ code: 'ECONNRESET' }]);
  expect(await server.exitCode).toBe(1);
  expect(await server.errors).toMatch(/shutting down by force: .*AbortError/);
});

test('a second signal ends the process at once', async () => {
  const server = await start();
  const order = await begin(server.port);
  const cut = once(order, 'error');
  server.process.kill('SIGTERM');
  await refused(server.port);
  server.process.kill('SIGTERM');
  expect(await cut).toMatchObject([{ code: 'ECONNRESET' }]);
  expect(await server.exitCode).toBe(null);
});
