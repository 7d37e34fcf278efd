/**
 * A limiter under fake timers: each row of the table in docs/how-to/testing.md.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import FakeTimers from '@sinonjs/fake-timers';
import { buildSync } from 'esbuild';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Limiter } from '../index.js';

const per = 1_000;
const make = () => new Limiter({ rate: { limit: 1, per } });

const used = make();
used.tryAcquire();

const uptime = performance.now();
while (performance.now() - uptime < 50);

interface Fake {
  install(): void;
  advance(ms: number): Promise<unknown>;
  uninstall(): void;
}

const vitest = (toFake?: NonNullable<Parameters<typeof vi.useFakeTimers>[0]>['toFake']): Fake => ({
  install: () => void vi.useFakeTimers(toFake && { toFake }),
  advance: (ms) => vi.advanceTimersByTimeAsync(ms),
  uninstall: () => void vi.useRealTimers(),
});

function sinon(toFake?: FakeTimers.FakeMethod[]): Fake {
  let clock: ReturnType<typeof FakeTimers.install>;
  return {
    install: () => {
      clock = FakeTimers.install(toFake && { toFake });
    },
    advance: (ms) => clock.tickAsync(ms),
    uninstall: () => clock.uninstall(),
  };
}

const timers = ['setTimeout', 'clearTimeout'] as const;
const fakes: [name: string, fake: Fake][] = [
  ['vitest', vitest()],
  ['vitest, setTimeout + Date + performance', vitest([...timers, 'Date', 'performance'])],
  ['vitest, setTimeout + Date', vitest([...timers, 'Date'])],
  ['vitest, setTimeout + performance', vitest([...timers, 'performance'])],
  ['vitest, setTimeout', vitest([...timers])],
  ['sinon', sinon()],
  ['sinon, setTimeout + Date', sinon([...timers, 'Date'])],
  ['sinon, setTimeout + performance', sinon([...timers, 'performance'])],
  ['sinon, setTimeout', sinon([...timers])],
];

/** Created at module load, as in most applications. */
const early = new Map(fakes.map(([name]) => [name, make()]));

let uninstall = () => {};

afterEach(() => {
  uninstall();
  uninstall = () => {};
});

function install(fake: Fake): void {
  fake.install();
  uninstall = () => fake.uninstall();
}

/** If only setTimeout is fake, real time passes meanwhile, and starts are up to 2 ms late. */
const isAlone = (name: string) => / setTimeout$/.test(name);
const slack = (name: string) => (isAlone(name) ? 2 : 0);

/** How many of two calls start at once, and how many have started after a window. */
async function startsOf(limiter: Limiter, [name, { advance }]: (typeof fakes)[number]) {
  let starts = 0;
  const calls = [1, 2].map(() => limiter.run(() => void starts++));
  await advance(0);
  const atOnce = starts;
  await advance(per - 1);
  // Real time may have brought it.
  if (!isAlone(name)) expect(starts).toBe(atOnce);
  await advance(1 + slack(name));
  const after = starts;
  // Clean up for the next test, also after a failure.
  limiter.cancel('over');
  await Promise.allSettled(calls);
  return [atOnce, after];
}

describe.each(fakes)('%s', (...row) => {
  const [name, fake] = row;
  test.each([1, 2])('made at load, round %s', async (round) => {
    install(fake);
    // If only setTimeout is fake, the limiter does not see the time between the rounds.
    const expected = round === 2 && isAlone(name) ? [0, 1] : [1, 2];
    expect(await startsOf(early.get(name) as Limiter, row)).toEqual(expected);
    // Time passes, and the limiter does not look.
    await fake.advance(60_000);
  });

  test('made before', async () => {
    const limiter = make();
    install(fake);
    expect(await startsOf(limiter, row)).toEqual([1, 2]);
  });

  test('made after', async () => {
    install(fake);
    expect(await startsOf(make(), row)).toEqual([1, 2]);
  });

  test('many calls all start, each on time', async () => {
    install(fake);
    const limiter = new Limiter({ concurrency: 2, rate: { limit: 2, per }, perKey: {} });
    let starts = 0;
    const calls = [0, 1, 2, 3, 4, 5].map((n) => limiter.run(() => void starts++, { key: n % 2 }));
    for (let window = 0; window < 3; window++) {
      await fake.advance(window && per);
      if (!isAlone(name)) expect(starts).toBe(2 * (window + 1));
    }
    // The starts of one window may lie milliseconds of real time apart.
    if (isAlone(name)) await fake.advance(per);
    expect(starts).toBe(6);
    await Promise.all(calls);
  });

  test('a map works', async () => {
    install(fake);
    const all = make()
      .map([1, 2, 3], (n) => n)
      .toArray();
    await fake.advance(0);
    await fake.advance(per + slack(name));
    await fake.advance(per + slack(name));
    expect(await all).toEqual([1, 2, 3]);
  });

  test('a window of a fraction of a millisecond ends', async () => {
    install(fake);
    const limiter = new Limiter({ rate: { limit: 4, per: 1 } });
    const all = Promise.all(Array.from({ length: 12 }, () => limiter.run(() => {})));
    await fake.advance(20);
    expect((await all).length).toBe(12);
  });

  test('removed while a call waits: it starts, at the latest with the next call', async () => {
    const limiter = new Limiter({ rate: { limit: 1, per: 20 } });
    install(fake);
    let starts = 0;
    const calls = [1, 2].map(() => limiter.run(() => void starts++));
    await fake.advance(1);
    expect(starts).toBe(1);
    uninstall();
    calls.push(limiter.run(() => void starts++));
    await Promise.all(calls);
    expect(starts).toBe(3);
  });

  test('removed, and then real timers', async () => {
    const limiter = new Limiter({ rate: { limit: 1, per: 20 } });
    install(fake);
    await Promise.all([limiter.run(() => {}), limiter.run(() => {}), fake.advance(61_000)]);
    uninstall();
    const begin = performance.now();
    const first = limiter.tryAcquire();
    if (!isAlone(name)) expect(first).toBeDefined();
    await Promise.all([limiter.run(() => {}), limiter.run(() => {})]);
    expect(performance.now() - begin).toBeGreaterThanOrEqual(20);
  });

  test('installed while a call waits: it starts, at the latest with the next call', async () => {
    const limiter = make();
    let starts = 0;
    const calls = [1, 2].map(() => limiter.run(() => void starts++));
    install(fake);
    calls.push(limiter.run(() => void starts++));
    await fake.advance(per + slack(name));
    await fake.advance(per + slack(name));
    expect(starts).toBe(3);
    await Promise.all(calls);
  });
});

describe('time that passes while no call waits', () => {
  test.each(fakes.filter(([name]) => !isAlone(name)))('%s', async (_, fake) => {
    install(fake);
    const limiter = make();
    await limiter.run(() => {});
    await fake.advance(per - 1);
    expect(limiter.tryAcquire()).toBeUndefined();
    await fake.advance(1);
    expect(limiter.tryAcquire()).toBeDefined();
  });

  test.each(fakes.filter(([name]) => isAlone(name)))('is not seen: %s', async (...row) => {
    install(row[1]);
    const limiter = make();
    await limiter.run(() => {});
    await row[1].advance(10 * per);
    expect(await startsOf(limiter, row)).toEqual([0, 1]);
  });
});

test('the table in the guide has these rows', () => {
  const guide = fileURLToPath(new URL('../../../../../docs/how-to/testing.md', import.meta.url));
  const [, section = ''] = readFileSync(guide, 'utf8').split('### Which clocks matter');
  const lines = section.matchAll(/^\| ((?:vitest|sinon|node:test).*?) +\|/gm);
  const node = ['node:test, setTimeout + Date', 'node:test, setTimeout'];
  expect([...lines].map(([, line]) => line)).toEqual([...fakes.map(([name]) => name), ...node]);
});

test('a limiter forgets the starts before fake timers were installed', async () => {
  install(vitest());
  expect(used.tryAcquire()).toBeDefined();
});

test('a clock that stands still, and real timers', async () => {
  install(vitest(['performance']));
  const limiter = new Limiter({ rate: { limit: 1, per: 5 } });
  const half = new Limiter({ rate: { limit: 2, per: 1, burst: 1 } });
  for (let n = 0; n < 3; n++) await Promise.all([limiter.run(() => {}), half.run(() => {})]);
});

test('a fake Date alone changes nothing', async () => {
  const limiter = new Limiter({ rate: { limit: 1, per: 20 } });
  const starts: number[] = [];
  const run = () => limiter.run(() => void starts.push(performance.now()));
  await run();
  vi.useFakeTimers({ toFake: ['Date'] });
  uninstall = () => void vi.useRealTimers();
  vi.setSystemTime(0);
  await run();
  vi.useRealTimers();
  await run();
  const gaps = starts.slice(1).map((start, n) => start - (starts[n] as number));
  for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(20);
});

test('runAllTimersAsync', async () => {
  install(vitest());
  const limiter = make();
  const calls = [1, 2, 3].map((n) => limiter.run(() => n));
  await vi.runAllTimersAsync();
  expect(await Promise.all(calls)).toEqual([1, 2, 3]);
});

test('node:test', { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-fake-timers-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  // Synchronous, as it leaves no service process behind that could keep the run from ending.
  buildSync({
    entryPoints: [fileURLToPath(new URL('../index.ts', import.meta.url))],
    outfile: join(folder, 'pointsman.mjs'),
    bundle: true,
    format: 'esm',
    target: 'es2022',
  });
  const program = join(folder, 'fake.test.mjs');
  writeFileSync(
    program,
    `
    import assert from 'node:assert';
    import { mock, test } from 'node:test';
    import { Limiter } from './pointsman.mjs';
    const make = () => new Limiter({ rate: { limit: 1, per: 1_000 } });
    const early = [make(), make()];
    const flush = async () => { for (let hop = 0; hop < 20; hop++) await null; };
    const advance = async (ms) => { await flush(); mock.timers.tick(ms); await flush(); };
    for (const [index, apis] of [['setTimeout', 'Date'], ['setTimeout']].entries()) {
      for (const [name, limiter] of [['made at load', () => early[index]], ['made after', make]]) {
        test(apis + ', ' + name, async () => {
          mock.timers.enable({ apis });
          try {
            const one = limiter();
            const done = [];
            for (const n of [1, 2, 3]) one.run(() => done.push(n));
            await advance(0);
            assert.deepEqual(done, [1]);
            await advance(999);
            // Real time may have brought it, where no clock is fake.
            if (apis.includes('Date')) assert.deepEqual(done, [1]);
            await advance(1);
            assert.deepEqual(done, [1, 2]);
            await advance(1_000);
            assert.deepEqual(done, [1, 2, 3]);
            if (apis.includes('Date')) {
              await advance(1_000);
              assert.notEqual(one.tryAcquire(), undefined);
              await advance(999);
              assert.equal(one.tryAcquire(), undefined);
              await advance(1);
            } else {
              await advance(10_000);
              assert.equal(one.tryAcquire(), undefined);
            }
          } finally {
            mock.timers.reset();
          }
        });
      }
    }
    `,
  );
  const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, ...env } = process.env;
  const child = spawn(process.execPath, ['--test', '--test-reporter=tap', program], {
    env,
    timeout: 50_000,
  });
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(`${output}${errors}`).toMatch(/# pass 4\n# fail 0/);
});
