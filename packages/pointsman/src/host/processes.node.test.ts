/** Processes that serve each other: what happens when one dies, stops, is busy or ends. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { currentServer, folderIn, Process, temporaryFolder } from '../../tests/host/processes.js';

const soon = { interval: 5, timeout: 10_000 };
/** A lease that outlasts each of these tests, so that nothing in them is due to its end. */
const long = 3_600_000;

const untilWaiting = (process: Process, count: number) =>
  expect.poll(async () => (await process.query()).waiting.length, soon).toBe(count);

/** Starts processes; the first one is the server at the beginning. */
async function start(count: number, ttl: number, directory = temporaryFolder()) {
  const processes: Process[] = [];
  for (let n = 0; n < count; n++) {
    const process = await Process.start({ directory, ttl });
    await process.lock(`mine ${n}`);
    await process.release(`mine ${n}`);
    processes.push(process);
  }
  return { directory, processes: processes as [Process, Process, Process] };
}

describe('a lease of an hour', () => {
  test('processes exclude each other, first come, first served', async () => {
    const { processes } = await start(3, long);
    const [a, b, c] = processes;
    const first = await a.lock('k');
    const order: string[] = [];
    const second = b.lock('k').finally(() => order.push('b'));
    await untilWaiting(a, 1);
    const third = c.lock('k').finally(() => order.push('c'));
    await untilWaiting(a, 2);
    expect(order).toEqual([]);
    await a.release('k');
    const token = await second;
    await b.release('k');
    expect(await third).toBeGreaterThan(token);
    expect(token).toBeGreaterThan(first);
    expect(order).toEqual(['b', 'c']);
  });

  test('a killed holder is succeeded at once', async () => {
    const { processes } = await start(3, long);
    const [a, b, c] = processes;
    await c.lock('k');
    const waiter = b.lock('k');
    await untilWaiting(a, 1);
    await c.kill('SIGKILL');
    await waiter;
  });

  test('a killed waiter loses its place', async () => {
    const { processes } = await start(3, long);
    const [a, b, c] = processes;
    await a.lock('k');
    c.lock('k').catch(() => {});
    await untilWaiting(a, 1);
    const waiter = b.lock('k');
    await untilWaiting(a, 2);
    await c.kill('SIGKILL');
    await untilWaiting(a, 1);
    await a.release('k');
    await waiter;
  });

  test('when the server is killed, the others keep what they hold and their places in the queue', async () => {
    const { processes } = await start(3, long);
    const [server, b, c] = processes;
    const token = await b.lock('held');
    await server.lock('its own');
    const waiter = c.lock(['held', 'its own']);
    await untilWaiting(b, 1);
    await server.kill('SIGKILL');
    await expect
      .poll(async () => (await b.query()).held.map(({ keys }) => keys), soon)
      .toEqual([['held']]);
    expect(await b.call('valid', 'held')).toBe(true);
    expect((await c.query()).waiting.map(({ keys }) => keys)).toEqual([['held', 'its own']]);
    await b.release('held');
    expect(await waiter).toBeGreaterThan(token);
  });

  test('one server after another is killed, and the namespace goes on', async () => {
    const directory = temporaryFolder();
    const stays = await Process.start({ directory, ttl: long });
    let last = await stays.lock('stays');
    for (let round = 0; round < 5; round++) {
      const process = await Process.start({ directory, ttl: long });
      const token = await process.lock('k');
      expect(token).toBeGreaterThan(last);
      last = token;
      await process.kill('SIGKILL');
    }
    expect(await stays.call('valid', 'stays')).toBe(true);
    // The server may hear of a query before it hears that the last process has ended.
    const heldKeys = async () => (await stays.query()).held.map(({ keys }) => keys);
    await expect.poll(heldKeys, soon).toEqual([['stays']]);
  });

  test('when all processes have been killed, the next one waits for none of them', async () => {
    const { directory, processes } = await start(3, long);
    const tokens = await Promise.all(processes.map((process, n) => process.lock(`k${n}`)));
    await Promise.all(processes.map((process) => process.kill('SIGKILL')));
    const next = await Process.start({ directory, ttl: long });
    expect(await next.lock(['k0', 'k1', 'k2'])).toBeGreaterThan(Math.max(...tokens));
  });

  test('a server that closes hands over', async () => {
    const { directory, processes } = await start(2, long);
    const [server, b] = processes;
    const token = await b.lock('k');
    await server.call('close');
    // In doubt until the process has connected to the successor.
    await expect.poll(() => b.call('valid', 'k'), soon).toBe(true);
    await b.release('k');
    expect(await b.lock('k')).toBeGreaterThan(token);
    await b.call('close');
    // What remains is the journal, so that tokens go on.
    expect(readdirSync(folderIn(directory))).toHaveLength(2);
  });

  test('a busy event loop of the serving process makes no other process wait', async () => {
    const { directory, processes } = await start(2, long);
    const [server, b] = processes;
    // The second process has made the first one serve from a thread.
    await expect.poll(() => currentServer(folderIn(directory)).epoch, soon).toBeGreaterThan(1);
    const before = currentServer(folderIn(directory)).header.address;
    const end = join(temporaryFolder(), 'end');
    await server.call('block', end);
    const blocked = server.query();
    let over = false;
    blocked.then(() => {
      over = true;
    });
    for (let n = 0; n < 10; n++) {
      await b.lock('k');
      await b.release('k');
    }
    expect(over).toBe(false);
    expect(currentServer(folderIn(directory)).header.address).toBe(before);
    writeFileSync(end, '');
    await blocked;
  });

  test('a stopped server is succeeded, and its holders keep what they hold', async () => {
    const { directory, processes } = await start(3, 20_000);
    const [server, b, c] = processes;
    await expect.poll(() => currentServer(folderIn(directory)).epoch, soon).toBeGreaterThan(1);
    const token = await b.lock('k');
    const ownToken = await server.lock('its own');
    const { epoch } = currentServer(folderIn(directory));
    await server.kill('SIGSTOP');
    const waiter = c.lock('k');
    await untilWaiting(b, 1);
    expect(currentServer(folderIn(directory)).epoch).toBeGreaterThan(epoch);
    expect(await b.call('valid', 'k')).toBe(true);
    await b.release('k');
    const next = await waiter;
    expect(next).toBeGreaterThan(token);
    await server.kill('SIGCONT');
    // It steps down. Its own process held a lock all the time, and its requests are served by the successor.
    await expect.poll(() => server.call('valid', 'its own'), soon).toBe(true);
    await server.release('its own');
    const request = server.lock('k');
    await untilWaiting(b, 1);
    await c.release('k');
    expect(await request).toBeGreaterThan(Math.max(next, ownToken));
  });
});

test('a holder that is stopped for longer than its lease loses its lock', async () => {
  const { directory, processes } = await start(2, 20_000);
  const [a, b] = processes;
  const c = await Process.start({ directory, ttl: 300 });
  const token = await c.lock('k');
  await c.kill('SIGSTOP');
  expect(await b.lock('k')).toBeGreaterThan(token);
  await c.kill('SIGCONT');
  await expect.poll(() => c.call('valid', 'k'), soon).toBe(false);
  expect((await a.query()).held.map(({ keys }) => keys)).toEqual([['k']]);
});

test('many processes come and go', async () => {
  const directory = temporaryFolder();
  const processes = await Promise.all(
    Array.from({ length: 12 }, () => Process.start({ directory, ttl: 5_000 })),
  );
  const tokens = await Promise.all(
    processes.map(async (process) => {
      const token = await process.lock('k');
      await process.release('k');
      if (token % 2 === 0) await process.call('close');
      return token;
    }),
  );
  expect(new Set(tokens).size).toBe(12);
  const next = await Process.start({ directory, ttl: 5_000 });
  expect(await next.lock('k')).toBeGreaterThan(Math.max(...tokens));
});

test('the starts of eight processes together are as many as one limiter admits', async () => {
  const directory = temporaryFolder();
  const processes = await Promise.all(
    Array.from({ length: 8 }, () => Process.start({ directory, ttl: 5_000 })),
  );
  // The window is longer than the test.
  const options = { rate: { limit: 100, per: 3_600_000 }, deadline: 60_000 };
  const started = await Promise.all(
    processes.map((process) => process.call('starts', options, 30) as Promise<number>),
  );
  expect(started.reduce((sum, count) => sum + count)).toBe(100);
});

test('the journal stays short after any number of sections', async () => {
  const directory = temporaryFolder();
  const process = await Process.start({ directory, ttl: 5_000 });
  await process.call('work', 'k', 3_000);
  const folder = folderIn(directory);
  const { epoch } = currentServer(folder);
  expect(readFileSync(`${folder}/${epoch}`).length).toBeLessThan(600_000);
  expect(readdirSync(folder).filter((name) => /^\d+$/.test(name))).toEqual([`${epoch}`]);
});
