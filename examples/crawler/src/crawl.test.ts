/** Crawls a site of three hosts. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Limiter } from 'pointsman';
import { crawl, type Page } from './crawl.js';

/**
 * A clock that stops while requests run and then jumps to the limiter's next timer. So the server sees each request at
 * the exact time of its start, on a machine of any speed.
 */
class Clock {
  time = 0;
  #timer: { at: number; callback: () => void } | undefined;

  now = () => this.time;
  setTimeout = (callback: () => void, ms: number) => {
    this.#timer = { at: this.time + ms, callback };
    return this.#timer;
  };
  clearTimeout = (timer: unknown) => {
    if (timer === this.#timer) this.#timer = undefined;
  };

  async run(limiter: Limiter): Promise<void> {
    while (!limiter.idle) {
      await setImmediate();
      const timer = this.#timer;
      if (limiter.running > 0 || !timer) continue;
      this.#timer = undefined;
      this.time = timer.at;
      timer.callback();
    }
  }
}

/** A host of pages that link to each other, and to the first page of another host. Records the times of its requests. */
class Host {
  readonly asked: { path: string; at: number }[] = [];
  most = 0;
  /** When it last answered 429. */
  refused = Number.NaN;
  #active = 0;
  #server = createServer(async (request, response) => {
    const path = request.url ?? '';
    this.asked.push({ path, at: this.clock.time });
    this.most = Math.max(this.most, ++this.#active);
    for (let turn = 0; turn < 10; turn++) await setImmediate(); // concurrent requests overlap
    this.#active--;
    if (path === this.busy && Number.isNaN(this.refused)) {
      this.refused = this.clock.time;
      response.writeHead(429, { 'retry-after': '3' }).end();
    } else {
      const links = Array.from({ length: 12 }, (_, page) => `<a href="/${page}#top">${page}</a>`);
      response.end(`${links.join('\n')} <a class="other" href="${this.next}">other</a>`);
    }
  });
  url = '';

  constructor(
    readonly clock: Clock,
    readonly next: string,
    readonly busy?: string,
  ) {}

  async listen(): Promise<this> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
    return this;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

let hosts: Host[] = [];
afterEach(() => {
  for (const host of hosts) host.close();
});

async function site(clock: Clock): Promise<[Host, Host, Host]> {
  const last = await new Host(clock, 'mailto:office@example.org').listen();
  const middle = await new Host(clock, last.url, '/3').listen();
  const first = await new Host(clock, middle.url).listen();
  hosts = [first, middle, last];
  return [first, middle, last];
}

const timeout = 60_000; // a test that hangs fails
const follow = (url: URL) => url.protocol === 'http:';
const rate = { limit: 4, per: 1_000 };
const perKey = { concurrency: 2, rate };

test('each page is yielded once, and no host gets more requests than its limits allow', {
  timeout,
}, async () => {
  const clock = new Clock();
  const [first, middle, last] = await site(clock);
  const limiter = new Limiter({ concurrency: 8, perKey, clock });
  const pages: Page[] = [];
  const crawling = (async () => {
    for await (const page of crawl([first.url], { limiter, follow })) pages.push(page);
  })();
  await setImmediate();
  await clock.run(limiter);
  await crawling;

  assert.equal(pages.length, 3 * 13);
  assert.equal(new Set(pages.map(({ url }) => url)).size, pages.length);
  assert.ok(pages.every(({ status }) => status === 200));
  for (const { asked, most } of hosts) {
    assert.equal(most, 2);
    for (const [index, { at }] of asked.entries()) {
      const before = asked[index - rate.limit];
      if (before) assert.ok(at - before.at >= rate.per, `${before.at} and ${at} are too near`);
    }
  }

  // Only the host that answered 429 got no request for three seconds.
  const during = ({ asked }: Host) =>
    asked.filter(({ at }) => at > middle.refused && at < middle.refused + 3_000);
  assert.equal(middle.asked.filter(({ path }) => path === '/3').length, 2);
  assert.equal(during(middle).length, 0);
  assert.notEqual(during(first).length + during(last).length, 0);
});

test('an aborted crawl sends no more requests', { timeout }, async () => {
  const clock = new Clock();
  const [first] = await site(clock);
  const limiter = new Limiter({ perKey, clock });
  const stopping = new AbortController();
  const crawling = crawl([first.url], { limiter, follow, signal: stopping.signal });
  assert.equal((await crawling.next()).value.url, first.url);
  assert.notEqual(limiter.waiting, 0);
  stopping.abort(new Error('enough'));
  await assert.rejects(async () => {
    for await (const _ of crawling);
  }, /enough/);
  await limiter.drain();
});

test('a host that does not answer is retried, and the crawl continues', { timeout }, async () => {
  const clock = new Clock();
  const [first, middle] = await site(clock);
  middle.close();
  const limiter = new Limiter({ perKey, clock });
  const pages: Page[] = [];
  const crawling = (async () => {
    for await (const page of crawl([first.url], { limiter, follow })) pages.push(page);
  })();
  await setImmediate();
  await clock.run(limiter);
  await crawling;
  const without = pages.filter(({ status }) => status === 0);
  assert.deepEqual(without, [{ url: middle.url, status: 0, html: '' }]);
  assert.equal(pages.length, 14);
  assert.ok(clock.time >= 4_000); // four times a second
});

test('leaving the loop aborts the crawl', { timeout }, async () => {
  const clock = new Clock();
  const [first] = await site(clock);
  const limiter = new Limiter({ perKey, clock });
  for await (const _ of crawl([first.url], { limiter, follow })) break;
  assert.equal(limiter.waiting, 0);
  await limiter.drain();
});

test('the command prints what it found', { timeout }, async () => {
  const [first] = await site(new Clock());
  const main = join(import.meta.dirname, 'main.js');
  const { stdout } = await promisify(execFile)(process.execPath, [main, first.url]);
  assert.deepEqual(stdout.trim().split('\n').sort().slice(0, 2), [
    `200 ${first.url}`,
    `200 ${first.url}0`,
  ]);
});
