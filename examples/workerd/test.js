/** Runs the Worker, and a source of rates whose answers the test sends. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { Channel } from 'pointsman';
import workerdPackage from 'workerd';

const timeout = 60_000; // a test that hangs fails

/** @type {Channel<{ url: string, response: import('node:http').ServerResponse }>} */
const asked = new Channel(Number.POSITIVE_INFINITY);
const source = createServer(({ url }, response) => asked.trySend({ url, response }));
let workerd;
let url;

before(
  async () => {
    await once(source.listen(0, '127.0.0.1'), 'listening');
    const external = `rates=127.0.0.1:${source.address().port}`;
    const addresses = ['--socket-addr', 'http=127.0.0.1:0', '--external-addr', external];
    workerd = spawn(
      workerdPackage.default,
      ['serve', 'workerd.capnp', '--control-fd=3', ...addresses],
      {
        cwd: import.meta.dirname,
        stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
      },
    );
    // workerd reports its port here.
    for await (const line of createInterface(workerd.stdio[3])) {
      const { event, port } = JSON.parse(line);
      if (event !== 'listen') continue;
      url = `http://127.0.0.1:${port}`;
      break;
    }
    assert.ok(url, 'workerd ended before it listened');
  },
  { timeout },
);

after(async () => {
  source.close();
  workerd.kill();
  await once(workerd, 'exit');
});

const ask = async (currency) => {
  const response = await fetch(`${url}/${currency}`);
  return `${response.status} ${await response.text()}`;
};

test('concurrent requests for one rate fetch it once', { timeout }, async () => {
  const many = Array.from({ length: 20 }, () => ask('EUR'));
  const other = ask('CHF');
  const requests = [await asked.receive(), await asked.receive()];
  assert.deepEqual(requests.map(({ url }) => url).sort(), ['/CHF', '/EUR']);
  for (const { url, response } of requests) response.end(`the rate of ${url}`);
  assert.equal(await other, '200 the rate of /CHF');
  assert.deepEqual(new Set(await Promise.all(many)), new Set(['200 the rate of /EUR']));
  assert.equal(await ask('EUR'), '200 the rate of /EUR'); // from the cache
  assert.equal(asked.length, 0);
});

test('a failure is not cached, and the next waiter tries again', { timeout }, async () => {
  const both = [ask('USD'), ask('USD')];
  (await asked.receive()).response.writeHead(500).end();
  (await asked.receive()).response.end('1.1');
  assert.deepEqual((await Promise.all(both)).sort(), ['200 1.1', '502 ']);
});

test('other paths are not found', { timeout }, async () => {
  assert.equal(await ask('euro'), '404 ');
});
