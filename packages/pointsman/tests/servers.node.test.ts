/** The servers and the proxy of the tests work as documented. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type FaultyProxy, startProxy } from './servers/proxy.js';
import { availableServers, startServer } from './servers/server.js';

/** Whether a process runs; a zombie does not. */
const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

test.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)(
  'a server ends when the process that started it ends, also by %s',
  async (signal) => {
    const folder = await mkdtemp(join(tmpdir(), 'pointsman-servers-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const outfile = join(folder, 'start.mjs');
    await build({
      stdin: {
        contents: `
          import { startServer } from './server.js';
          const server = await startServer();
          server.pause();
          console.log(JSON.stringify([server.pid, server.folder]));
          setInterval(() => {}, 1_000);`,
        resolveDir: join(import.meta.dirname, 'servers'),
      },
      outfile,
      bundle: true,
      platform: 'node',
      format: 'esm',
      banner: {
        js: "import { createRequire } from 'node:module'; const require = createRequire('/');",
      },
    });
    const starter = spawn(process.execPath, [outfile], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(starter.stdout, 'data');
    const [pid, files] = JSON.parse(line);
    expect(alive(pid)).toBe(true);
    starter.kill(signal);
    await vi.waitFor(() => expect(alive(pid)).toBe(false), 5_000);
    await vi.waitFor(() => expect(existsSync(files)).toBe(false), 5_000);
  },
  20_000,
);

test('a server keeps its data over a restart only with keepData', async () => {
  const server = await startServer({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  onTestFinished(() => server.stop());
  await server.command('SET', 'key', 'value');
  await server.restart({ keepData: true });
  expect(await server.command('GET', 'key')).toBe('value');
  await server.restart();
  expect(await server.command('GET', 'key')).toBe(null);
  expect(availableServers()[0]).toEqual(server.kind);
});

/** A client of the proxy, the server's side of its connection, and what the client has received. */
async function throughProxy() {
  const ends: Socket[] = [];
  const listener = createServer((end) => ends.push(end.on('error', () => {}))).listen(
    0,
    '127.0.0.1',
  );
  await once(listener, 'listening');
  const proxy = await startProxy((listener.address() as { port: number }).port);
  onTestFinished(async () => {
    await proxy.stop();
    listener.close();
    for (const end of ends) end.destroy();
  });
  const open = async () => {
    const client = connect(proxy.port, '127.0.0.1');
    const state = { client, heard: '', over: '' };
    client.on('data', (bytes) => {
      state.heard += bytes;
    });
    client.on('error', (error: NodeJS.ErrnoException) => {
      state.over = error.code ?? '';
    });
    client.on('end', () => {
      state.over = 'end';
    });
    onTestFinished(() => {
      client.destroy();
    });
    await once(client, 'connect');
    return state;
  };
  const serverEnd = async (count: number): Promise<Socket> => {
    await vi.waitFor(() => expect(ends.length).toBe(count), 5_000);
    return ends[count - 1] as Socket;
  };
  return { proxy: proxy as FaultyProxy, open, serverEnd };
}

/** All runs in one process, so written data has been read a few turns later. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
}

test('delayed or held replies arrive later, complete and in order', async () => {
  const { proxy, open, serverEnd } = await throughProxy();
  const state = await open();
  const server = await serverEnd(1);
  proxy.delayReplies(100);
  const begin = performance.now();
  server.write('1');
  await turns();
  proxy.delayReplies(0);
  server.write('2');
  await vi.waitFor(() => expect(state.heard).toBe('12'), 5_000);
  expect(performance.now() - begin).toBeGreaterThanOrEqual(99);

  proxy.holdReplies();
  server.write('3');
  await turns();
  server.end('4');
  await turns();
  expect(state).toMatchObject({ heard: '12', over: '' });
  proxy.letGo();
  await vi.waitFor(() => expect(state).toMatchObject({ heard: '1234', over: 'end' }), 5_000);
});

test('cut() resets both sides', async () => {
  const { proxy, open, serverEnd } = await throughProxy();
  const state = await open();
  const server = await serverEnd(1);
  const lost = once(server, 'error');
  expect(proxy.connections).toBe(1);
  proxy.cut();
  expect((await lost)[0].code).toBe('ECONNRESET');
  await vi.waitFor(() => expect(state.over).toBe('ECONNRESET'), 5_000);
  expect(proxy.connections).toBe(0);
});

test('in a black hole neither side receives anything, not even the end; later connections work', async () => {
  const { proxy, open, serverEnd } = await throughProxy();
  const before = await open();
  const server = await serverEnd(1);
  let commands = '';
  server.on('data', (bytes) => {
    commands += bytes;
  });
  proxy.blackhole(true);
  const during = await open();
  proxy.blackhole(false);
  const after = await open();
  before.client.write('command');
  server.write('reply');
  before.client.end();
  await turns();
  (await serverEnd(3)).write('reply');
  await vi.waitFor(() => expect(after.heard).toBe('reply'), 5_000);
  expect([before.heard, during.heard, commands]).toEqual(['', '', '']);
  expect([before.over, during.over, server.readableEnded]).toEqual(['', '', false]);
});
