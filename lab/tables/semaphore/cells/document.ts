/**
 * The document's own row: workerd, 100 requests to warm up, then 1,000 over 50 connections, each of which must be
 * answered with the count 5,000.
 *
 * The document warms every subject up on one route of one server. Here each subject has its own server, which also
 * gets the warm-up. The compatibility date is the document's.
 */
import type { Cell, Measurement } from '../../../harness/table.js';
import { findDriver } from '../drivers/driver.js';
import { type Compatibility, type Server, serve } from '../worker/workerd.js';

const count = '5000';
const warmup = { requests: 100, connections: 50 };
const load = { requests: 1_000, connections: 50 };
const compatibility: Compatibility = { date: '2024-06-14' };
const today: Compatibility = { date: '2026-01-01', flags: ['nodejs_compat'] };

export const documentCell: Cell = {
  id: 'document',
  subjects: [
    'pointsman',
    '@henrygd/semaphore',
    'async-mutex',
    'async-sema',
    '@shopify/semaphore',
    'await-semaphore',
    'es-toolkit',
    'empty request',
    'bare promises',
  ],
  expectedMilliseconds: 1_500,
  async measure(subject) {
    const server = await serve('document', subject, compatibility);
    let first: Answer;
    try {
      first = await ask(server);
      if (first.body === count) return await measureLoad(server.url);
    } finally {
      await server.stop();
    }
    const failure = `HTTP ${first.status}, ${lastWords(server)}`;
    return { ok: false, note: `${failure}; ${await withTodaysNode(subject)}`, samples: {} };
  },
};

async function measureLoad(url: string): Promise<Measurement> {
  const driver = findDriver();
  await driver.send(url, warmup, count);
  const result = await driver.send(url, load, count);
  if (result.answered !== load.requests) {
    const note = `answered ${result.answered} of ${load.requests} requests with ${count}`;
    return { ok: false, note, samples: {} };
  }
  return {
    ok: true,
    note: `driven by ${driver.name}`,
    samples: {
      requestsPerSecond: [load.requests / result.totalSeconds],
      totalSeconds: [result.totalSeconds],
      averageSeconds: [result.averageSeconds],
      slowestSeconds: [result.slowestSeconds],
    },
  };
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
