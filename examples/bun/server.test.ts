/** Runs the server with two megabytes of memory and space for one waiting request. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';

const server = Bun.spawn(['bun', 'run', 'server.ts'], {
  cwd: import.meta.dir,
  env: { ...Bun.env, PORT: '0', MEGABYTES: '2', MAX_WAITING: '1' },
  stdout: 'pipe',
  stderr: 'inherit',
});
let url = '';

beforeAll(async () => {
  for await (const chunk of server.stdout) {
    url = new TextDecoder().decode(chunk).trim();
    break;
  }
});

afterAll(() => server.kill('SIGKILL'));

const ask = (text: string) => fetch(`${url}words`, { method: 'POST', body: text });

async function until(wanted: { free: number; waiting: number }): Promise<void> {
  while (!Bun.deepEquals(await (await fetch(`${url}status`)).json(), wanted));
}

/** Sends the headers of a request and the first byte of its text. */
function announce(text: string): ClientRequest {
  const headers = { 'content-length': text.length };
  const announced = request(`${url}words`, { method: 'POST', headers });
  announced.write(text.slice(0, 1));
  return announced;
}

test('it counts words', async () => {
  const response = await ask('To be, or not to be');
  expect(await response.json()).toEqual({ to: 2, be: 2, or: 1, not: 1 });
  expect((await ask('a'.repeat(2_000_001))).status).toBe(413);
});

test('texts wait for memory, and are refused when too many do', async () => {
  const large = 'word '.repeat(400_000);
  const first = announce(large);
  await until({ free: 0, waiting: 0 });
  const second = ask('small');
  await until({ free: 0, waiting: 1 });
  const third = await ask('small');
  expect(third.status).toBe(503);
  first.end(large.slice(1));
  const [response]: IncomingMessage[] = await once(first, 'response');
  expect(response?.statusCode).toBe(200);
  response?.resume();
  expect(await (await second).json()).toEqual({ small: 1 });
  await until({ free: 2, waiting: 0 });
});

test('a client that disconnects gives its memory back', async () => {
  const left = announce('x'.repeat(1_500_000)).on('error', () => {});
  await until({ free: 0, waiting: 0 });
  left.destroy();
  await until({ free: 2, waiting: 0 });
});

test('SIGTERM finishes the running work and ends the process', async () => {
  const last = announce('the end');
  await until({ free: 1, waiting: 0 });
  server.kill('SIGTERM');
  last.end('he end');
  const [response]: IncomingMessage[] = await once(last, 'response');
  expect(response?.statusCode).toBe(200);
  response?.resume();
  expect(await server.exited).toBe(0);
});
