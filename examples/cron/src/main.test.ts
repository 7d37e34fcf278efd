/** Runs the job in three processes, with their own Redis and source of rates. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { Redis } from 'ioredis';
import { Channel } from 'pointsman';

async function lineOf(output: AsyncIterable<string>, wanted: RegExp): Promise<string> {
  for await (const line of output) if (wanted.test(line)) return line;
  throw new Error(`The output ended before ${wanted}`);
}

const timeout = 60_000; // a test that hangs fails

const folder = mkdtempSync(join(tmpdir(), 'rates-cron-'));
const socket = join(folder, 'redis.sock');
let server: ChildProcess;
let client: Redis;

/** The source of rates. The test sends its answers. */
const asked = new Channel<{ at: string | null; pid: number; response: ServerResponse }>(Infinity);
const source = createServer((request, response) => {
  const at = new URL(request.url ?? '', 'http://localhost').searchParams.get('at');
  asked.trySend({ at, pid: Number(request.headers['user-agent']?.split('/')[1]), response });
});

/** The processes by their ids, and their output. */
const jobs = new Map<number, { child: ChildProcess; output: Channel<string> }>();

async function start(env: NodeJS.ProcessEnv): Promise<void> {
  const command = [process.execPath, join(import.meta.dirname, 'main.js')];
  const child = spawn('sh', ['-c', 'exec "$0" "$@" 2>&1', ...command], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = new Channel<string>(Infinity);
  const lines = createInterface(child.stdout);
  lines.on('line', (line) => output.trySend(line)).once('close', () => output.close());
  jobs.set(child.pid ?? 0, { child, output });
  await lineOf(output, /runs/);
}

before(
  async () => {
    const options = ['--port', '0', '--unixsocket', socket, '--dir', folder, '--save', ''];
    server = spawn('redis-server', options, { stdio: ['ignore', 'pipe', 'inherit'] });
    await lineOf(createInterface(server.stdout as Readable), /ready to accept connections/i);
    client = new Redis(socket);
    await once(source.listen(0, '127.0.0.1'), 'listening');
    const { port } = source.address() as AddressInfo;
    const env = {
      REDIS_URL: socket,
      RATES_URL: `http://127.0.0.1:${port}/rates`,
      SCHEDULE: '0-59/2 * * * * *',
    };
    await Promise.all([start(env), start(env), start(env)]);
  },
  { timeout },
);

after(async () => {
  for (const { child } of jobs.values()) child.kill('SIGKILL');
  client.disconnect();
  source.close();
  server.kill();
  await once(server, 'exit');
  rmSync(folder, { recursive: true });
});

test('each tick is processed once, by one process', { timeout }, async () => {
  const ticks: (string | null)[] = [];
  for (let count = 0; count < 4; count++) {
    const { at, pid, response } = await asked.receive();
    ticks.push(at);
    response.end(`rates of ${at}`);
    await lineOf(jobs.get(pid)?.output ?? assert.fail('an unknown process'), /stored/);
    assert.equal(JSON.parse((await client.hget('rates', 'value')) ?? '').rates, `rates of ${at}`);
  }
  assert.deepEqual(ticks, [...new Set(ticks)].sort());
});

test('another process takes over from one that was killed', { timeout }, async () => {
  const killed = await asked.receive();
  process.kill(killed.pid, 'SIGKILL');
  jobs.delete(killed.pid);
  const next = await asked.receive();
  assert.notEqual(next.pid, killed.pid);
  assert.equal(next.at, killed.at);
  next.response.end('rates after all');
  await lineOf(jobs.get(next.pid)?.output ?? assert.fail('an unknown process'), /stored/);
});

test('a paused process does not overwrite the value of its successor', {
  timeout,
}, async () => {
  const stale = await asked.receive();
  process.kill(stale.pid, 'SIGSTOP');
  const next = await asked.receive();
  next.response.end('new');
  await lineOf(jobs.get(next.pid)?.output ?? assert.fail('an unknown process'), /stored/);
  stale.response.end('old');
  process.kill(stale.pid, 'SIGCONT');
  const line = await lineOf(jobs.get(stale.pid)?.output ?? assert.fail(), /stored|refused|Lost/);
  assert.doesNotMatch(line, /stored/);
  assert.equal(JSON.parse((await client.hget('rates', 'value')) ?? '').rates, 'new');
});

test('SIGTERM finishes the running work and ends the process', { timeout }, async () => {
  const last = await asked.receive();
  const ends = [...jobs.values()].map(({ child }) => once(child, 'exit'));
  for (const { child } of jobs.values()) child.kill('SIGTERM');
  last.response.end('the last');
  assert.deepEqual(await Promise.all(ends), [
    [0, null],
    [0, null],
  ]);
  assert.equal(JSON.parse((await client.hget('rates', 'value')) ?? '').rates, 'the last');
  assert.equal(asked.length, 0);
});
