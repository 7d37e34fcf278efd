/**
 * The document's own work: workerd, 50 connections, and requests each of which must be answered with the count 5,000.
 *
 * The document warms up every subject on one route of one server. Here each burst, and each run of 1,000 requests, goes
 * to a new server that has been warmed up. The compatibility date is the document's.
 */
import { millisecondsBetween, readProcessorTime } from '../../../harness/processor-time.js';
import { processorTimeOf } from '../../../harness/sample.js';
import type { MeasuredCell, Samples } from '../../../harness/table.js';
import { type Driver, findDriver, type Load, type LoadResult } from '../drivers/driver.js';
import { type Compatibility, type Server, serve } from '../worker/workerd.js';

const count = '5000';
const connections = 50;
const warmUp: Load = { requests: 100, connections };
/** Enough requests that opening the connections, which the document does once per 1,000, takes a small part. */
const burst: Load = { requests: 200, connections };
const run: Load = { requests: 1_000, connections };
const compatibility: Compatibility = { date: '2024-06-14' };
const today: Compatibility = { date: '2026-01-01', flags: ['nodejs_compat'] };

const subjects = [
  'pointsman',
  '@henrygd/semaphore',
  'async-mutex',
  'async-sema',
  '@shopify/semaphore',
  'await-semaphore',
  'empty request',
  'bare promises',
];

export const requestRate = 'requestsPerSecond';

/**
 * A slice is a burst of requests to a new server: a JavaScript engine may compile the same code twice as slow in one
 * process as in the next, so more servers say more than more requests.
 */
export const documentCell: MeasuredCell = {
  id: 'document',
  subjects,
  sliceMilliseconds: 300,
  async measure(subject, lab) {
    const failure = await failureOf(subject);
    if (failure !== undefined) return { ok: false, note: failure, samples: {} };
    const driver = findDriver();
    await lab.serve([{ name: requestRate, run: () => withWarmServer(subject, driver, rateOf) }]);
    return { ok: true, note: `driven by ${driver.name}`, samples: {} };
  },
};

async function rateOf(server: Server, driver: Driver): Promise<Samples> {
  const before = readProcessorTime([server.id]);
  const { totalSeconds } = await load(server.url, driver, burst);
  const used = millisecondsBetween(before, readProcessorTime([server.id]));
  return {
    [requestRate]: burst.requests / totalSeconds,
    [processorTimeOf(requestRate)]: (used * 1_000) / burst.requests,
  };
}

/** The 1,000 requests as published. */
export const wholeRunCell: MeasuredCell = {
  id: 'document, 1,000 requests',
  subjects,
  whole: 'a total, a mean and a maximum belong to all 1,000 requests, which take a second',
  expectedMilliseconds: 1_500,
  async measure(subject) {
    const failure = await failureOf(subject);
    if (failure !== undefined) return { ok: false, note: failure, samples: {} };
    const driver = findDriver();
    const { totalSeconds, averageSeconds, slowestSeconds } = await withWarmServer(
      subject,
      driver,
      ({ url }) => load(url, driver, run),
    );
    return {
      ok: true,
      note: `driven by ${driver.name}`,
      samples: {
        totalSeconds: [totalSeconds],
        averageSeconds: [averageSeconds],
        slowestSeconds: [slowestSeconds],
      },
    };
  },
};

async function withWarmServer<Result>(
  subject: string,
  driver: Driver,
  work: (server: Server, driver: Driver) => Promise<Result>,
): Promise<Result> {
  const server = await serve('document', subject, compatibility);
  try {
    await load(server.url, driver, warmUp);
    return await work(server, driver);
  } finally {
    await server.stop();
  }
}

/** Returns how the first answer is wrong; undefined if it is right. */
async function failureOf(subject: string): Promise<string | undefined> {
  const server = await serve('document', subject, compatibility);
  const first = await ask(server).finally(() => server.stop());
  if (first.body === count) return undefined;
  return `HTTP ${first.status}, ${lastWords(server)}; ${await withTodaysNode(subject)}`;
}

async function load(url: string, driver: Driver, requested: Load): Promise<LoadResult> {
  const result = await driver.send(url, requested, count);
  if (result.answered !== requested.requests) {
    throw new Error(`answered ${result.answered} of ${requested.requests} requests with ${count}`);
  }
  return result;
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly milliseconds: number;
}

async function ask({ url }: Server): Promise<Answer> {
  const askedAt = performance.now();
  const response = await fetch(url);
  const body = await response.text();
  return { status: response.status, body, milliseconds: performance.now() - askedAt };
}

function lastWords(server: Server): string {
  const [first = ''] = server.words().split('\n');
  return `workerd: ${first.replace(/^.*\bfailed: /, '').replace(/ Refer to: .*$/, '')}`;
}

/** The outcome under today's date. A library that needs Node's globals lacks them under the document's date. */
async function withTodaysNode(subject: string): Promise<string> {
  const server = await serve('document', subject, today);
  try {
    await ask(server);
    const { status, body, milliseconds } = await ask(server);
    const outcome =
      body === count ? `answers in ${milliseconds.toFixed(0)} ms` : `answers HTTP ${status} too`;
    return `with ${today.flags?.join()} of ${today.date} it ${outcome}`;
  } finally {
    await server.stop();
  }
}
