/** Tests the service with a single thread behind a gate, and the command. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import jpeg from 'jpeg-js';
import { Pool } from 'pointsman/pool';
import { imageServer, type ServerOptions, type Thumbnails } from './server.js';

const timeout = 60_000; // a test that hangs fails

function photo(width: number, height: number): Uint8Array<ArrayBuffer> {
  const data = new Uint8Array(width * height * 4).fill(200);
  return new Uint8Array(jpeg.encode({ width, height, data }).data);
}

const small = photo(40, 20);

/** The service with one thread and a bounded queue. */
async function start(maxWaiting: number, options: ServerOptions = { timeout: Infinity }) {
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const pool: Thumbnails = new Pool({
    module: new URL('./gated.js', import.meta.url),
    threads: 1,
    maxWaiting,
    whenFull: 'reject',
    workerData: gate.buffer,
  });
  const server = imageServer(pool, options);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ask: (client: string, signal?: AbortSignal) =>
      fetch(`${url}/thumbnail?width=10`, {
        method: 'POST',
        headers: { 'x-api-key': client },
        body: small,
        ...(signal && { signal }),
      }),
    /** Polls the state until it is as wanted. */
    async until(wanted: { running: number; waiting: number }): Promise<void> {
      for (;;) {
        const response = await fetch(`${url}/health`);
        if (isDeepStrictEqual(await response.json(), wanted)) return;
      }
    },
    /** Lets one more task begin. */
    open() {
      Atomics.add(gate, 0, 1);
      Atomics.notify(gate, 0);
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await pool.terminate();
    },
  };
}

test('health is answered while all threads work, and requests beyond the queue are refused', {
  timeout,
}, async () => {
  await using service = await start(1);
  const first = service.ask('ann');
  await service.until({ running: 1, waiting: 0 });
  const second = service.ask('ann');
  await service.until({ running: 1, waiting: 1 });
  const refused = await service.ask('ann');
  assert.equal(refused.status, 503);
  assert.equal(refused.headers.get('retry-after'), '1');
  service.open();
  service.open();
  assert.equal((await first).status, 200);
  assert.equal((await second).status, 200);
});

test('clients that disconnect free their places', { timeout }, async () => {
  await using service = await start(1);
  const leaving = new AbortController();
  const running = service.ask('ann', leaving.signal);
  await service.until({ running: 1, waiting: 0 });
  const waiting = service.ask('bob', leaving.signal);
  await service.until({ running: 1, waiting: 1 });
  leaving.abort();
  await assert.rejects(running, { name: 'AbortError' });
  await assert.rejects(waiting, { name: 'AbortError' });
  await service.until({ running: 0, waiting: 0 });
  const next = service.ask('eve');
  service.open();
  assert.equal((await next).status, 200);
});

test('clients take turns', { timeout }, async () => {
  await using service = await start(10);
  const pending = new Map<string, Promise<string>>();
  for (const [index, name] of ['ann 1', 'ann 2', 'ann 3', 'bob 1'].entries()) {
    const [client = ''] = name.split(' ');
    pending.set(
      name,
      service.ask(client).then(() => name),
    );
    await service.until({ running: 1, waiting: index });
  }
  const order: string[] = [];
  while (pending.size > 0) {
    service.open();
    const name = await Promise.race(pending.values());
    pending.delete(name);
    order.push(name);
  }
  assert.ok(order.indexOf('bob 1') < order.indexOf('ann 3'), order.join(', '));
});

test('a thumbnail that takes too long is cancelled', { timeout }, async () => {
  await using service = await start(1, { timeout: 200 });
  assert.equal((await service.ask('ann')).status, 504);
  await service.until({ running: 0, waiting: 0 });
});

test('the command makes thumbnails, and finishes its work after SIGTERM', { timeout }, async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.js')], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [url] = await once(createInterface(child.stdout), 'line');
    const ask = async (body: Uint8Array<ArrayBuffer>, width: number | string) =>
      fetch(`${url}/thumbnail?width=${width}`, { method: 'POST', body });

    const sizes = await Promise.all(
      [10, 50, 60, 2_000].map(async (width) => {
        const response = await ask(photo(120, 80), width);
        assert.equal(response.headers.get('content-type'), 'image/jpeg');
        const image = jpeg.decode(await response.arrayBuffer());
        assert.ok(image.data[0] && Math.abs(image.data[0] - 200) < 5, 'its colour has changed');
        return [image.width, image.height];
      }),
    );
    assert.deepEqual(sizes, [
      [10, 7],
      [50, 33],
      [60, 40],
      [120, 80],
    ]);
    assert.equal((await ask(new TextEncoder().encode('no image'), 10)).status, 415);
    assert.equal((await ask(small, 'wide')).status, 400);
    assert.equal((await fetch(`${url}//`)).status, 400);
    assert.equal((await ask(new Uint8Array(10_000_001), 10)).status, 413);

    const last = request(`${url}/thumbnail`, {
      method: 'POST',
      headers: { expect: '100-continue', 'content-length': small.length },
      agent: false,
    });
    last.flushHeaders();
    await once(last, 'continue'); // the server has begun with it
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    const { port } = new URL(url);
    const listens = async () => {
      const socket = connect(Number(port), 'localhost');
      return once(socket, 'connect').then(
        () => socket.destroy(),
        () => undefined,
      );
    };
    while (await listens());
    last.end(small);
    const [response] = await once(last, 'response');
    assert.equal(response.statusCode, 200);
    response.resume();
    assert.deepEqual(await exit, [0, null]);
  } finally {
    child.kill('SIGKILL');
  }
});
