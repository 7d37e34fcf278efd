/**
 * `node lab/dist/tables/lock/stress.js --forks 30 --tries 10 --sleep 2 --keys 5`, or `-f 30 -t 10 -s 2 -k 5`: the
 * stress test of the published document, with our lock.
 *
 * Many processes each visit all keys, in an order of their own: lock a key, write a value beside it, sleep, and find
 * the value unchanged. A process that waits longer than it sleeps has failed once and tries another key; after `tries`
 * failures with a key it gives that key up. A changed value ends the test with exit code 1.
 *
 * With F processes, a sleep of S and K keys, the test takes at least F times S: each process sleeps K times, and at
 * most K processes sleep at a time.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { defineCommand, runMain } from 'citty';
import { sum } from 'simple-statistics';
import { startServer } from '../../harness/redis-server.js';
import { counted, describeDuration } from '../../report/format.js';
import type { Orders, Report } from './stress/process.js';

const option = (alias: string, initial: string, description: string) =>
  ({ type: 'string', alias, default: initial, description }) as const;

const argumentsOf = {
  forks: option('f', '30', 'Number of processes'),
  tries: option('t', '10', 'Failures after which a key is given up'),
  sleep: option('s', '2', 'Seconds for which a lock is held'),
  keys: option('k', '5', 'Number of keys that each process visits'),
};

const progressMilliseconds = 5_000;

const command = defineCommand({
  meta: { name: 'stress', description: 'The stress test of the published document' },
  args: argumentsOf,
  async run({ args }) {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => process.exit(130));
    }
    try {
      await stress({
        forks: positive('forks', args.forks),
        tries: positive('tries', args.tries),
        sleepMilliseconds: 1_000 * positive('sleep', args.sleep),
        keys: positive('keys', args.keys),
      });
    } catch (error) {
      console.error(error instanceof Error ? error.message : error);
      process.exit(1);
    }
    process.exit();
  },
});

function positive(name: string, value: string): number {
  const number = Number(value);
  const isWhole = name === 'sleep' || Number.isSafeInteger(number);
  if (!(number > 0) || !isWhole || !Number.isFinite(number)) {
    throw new Error(
      `--${name} ${value}: expected a positive ${name === 'sleep' ? 'number' : 'integer'}`,
    );
  }
  return number;
}

interface Size {
  readonly forks: number;
  readonly tries: number;
  readonly sleepMilliseconds: number;
  readonly keys: number;
}

async function stress({ forks, tries, sleepMilliseconds, keys }: Size): Promise<void> {
  // The server must be up for longer than the locks of this test live.
  const { address } = await startServer(console.log, (2 * sleepMilliseconds) / 1_000);
  const orders: Orders = { address, tries, sleepMilliseconds, keys };
  const reports = new Array<Report>(forks).fill({ succeeded: 0, failures: 0, givenUp: 0 });
  const total = () => ({
    succeeded: sum(reports.map((report) => report.succeeded)),
    failures: sum(reports.map((report) => report.failures)),
    givenUp: sum(reports.map((report) => report.givenUp)),
  });
  const startedAt = performance.now();
  const elapsed = () => describeDuration(performance.now() - startedAt);
  const least = describeDuration(forks * sleepMilliseconds);
  const progress = setInterval(() => {
    const { succeeded, failures } = total();
    console.log(
      `${elapsed()} elapsed, at least ${least} in total: ${succeeded} of ${forks * keys} Ok, ${counted(failures, 'failure')}`,
    );
  }, progressMilliseconds);

  await Promise.all(
    reports.map((_, index) => visit(orders, (report) => (reports[index] = report))),
  );

  clearInterval(progress);
  for (const [index, { succeeded, failures }] of reports.entries()) {
    console.log(`process ${index + 1}: Ok ${succeeded}, Failures ${failures}`);
  }
  const { succeeded, failures, givenUp } = total();
  console.log(
    `${forks} processes in ${elapsed()}: ${succeeded} of ${forks * keys} Ok, ${counted(failures, 'failure')}, ${counted(givenUp, 'key')} given up, no value changed under a lock`,
  );
}

/** Runs one process, until it has visited all its keys. */
async function visit(orders: Orders, note: (report: Report) => void): Promise<void> {
  const child = fork(new URL('./stress/process.js', import.meta.url), [JSON.stringify(orders)]);
  process.once('exit', () => child.kill('SIGKILL'));
  child.on('message', note);
  const [code, signal] = await once(child, 'exit');
  if (code !== 0)
    throw new Error(`process ${child.pid} ended with ${signal ?? `exit code ${code}`}`);
}

await runMain(command);
