/**
 * The table `semaphore`: the published benchmark of async semaphores in workerd, and what it leaves out, in Node;
 * queues in the newest Node and in Bun too.
 */
import { processorTimeOf } from '../../harness/sample.js';
import type { Row, Table } from '../../harness/table.js';
import { documentCell, requestRate, wholeRunCell } from './cells/document.js';
import { memoryCell } from './cells/memory.js';
import {
  abortedCell,
  contendedByTenCell,
  deepCell,
  runCell,
  triedFirstCell,
  uncontendedCell,
  waitingCell,
  waitingElsewhere,
} from './cells/node.js';
import { sharedBehaviours, sharedCell } from './cells/shared.js';
import { findDriver } from './drivers/driver.js';
import { runtimeVersions } from './runtimes.js';
import { subjects } from './subjects/index.js';
import { bundleWorker } from './worker/bundle.js';

const documentRows: readonly Row[] = [
  {
    row: 'requests per second',
    column: 'Requests/sec',
    cell: documentCell.id,
    measure: requestRate,
    processorTime: processorTimeOf(requestRate),
    judgedByProcessorTime: true,
    unit: 'requests/s',
    better: 'higher',
    published: {
      '@henrygd/semaphore': 959.9046,
      'async-mutex': 582.7553,
      'async-sema': 375.7332,
      '@shopify/semaphore': 167.8239,
    },
    about:
      'Each request makes a semaphore of 1, issues 5,000 acquires with .then and releases in the callback. Bursts of 200 requests over 50 connections, each to a new workerd, whose processor time is judged.',
  },
  {
    row: 'total time',
    column: 'Total (sec)',
    cell: wholeRunCell.id,
    measure: 'totalSeconds',
    unit: 's',
    better: 'lower',
    published: {
      '@henrygd/semaphore': 1.0418,
      'async-mutex': 1.716,
      'async-sema': 2.6615,
      '@shopify/semaphore': 5.9586,
    },
    aside: true,
    about: '1,000 requests as published, from the first sent to the last answered.',
  },
  {
    row: 'average request',
    column: 'Average',
    cell: wholeRunCell.id,
    measure: 'averageSeconds',
    unit: 's',
    better: 'lower',
    published: {
      '@henrygd/semaphore': 0.0512,
      'async-mutex': 0.0843,
      'async-sema': 0.1308,
      '@shopify/semaphore': 0.2925,
    },
    aside: true,
    about: 'The mean time of one request, most of it spent behind the 49 others.',
  },
  {
    row: 'slowest request',
    column: 'Slowest',
    cell: wholeRunCell.id,
    measure: 'slowestSeconds',
    unit: 's',
    better: 'lower',
    published: {
      '@henrygd/semaphore': 0.0772,
      'async-mutex': 0.1221,
      'async-sema': 0.1818,
      '@shopify/semaphore': 0.4063,
    },
    aside: true,
    about: 'The longest time of one request.',
  },
];

/** A row of work by one thread, in its own process. */
function timed(row: Pick<Row, 'row' | 'cell' | 'measure' | 'about'>): Row {
  return {
    ...row,
    unit: 'ns',
    better: 'lower',
    processorTime: processorTimeOf(row.measure),
    judgedByProcessorTime: true,
  };
}

/** The rows that are measured in every runtime. */
const waitingRows = [
  timed({
    row: "the document's loop, awaited",
    cell: waitingCell.id,
    measure: 'documentAwaited',
    about: 'The same 5,000 acquires on a fresh semaphore of 1, by async functions with await.',
  }),
  timed({
    row: 'contended, limit 1',
    cell: waitingCell.id,
    measure: 'contendedByOne',
    about: '200 tasks take 25 turns each on a limit of 1 and release at once: a contended lock.',
  }),
  timed({
    row: '10 waiters',
    cell: waitingCell.id,
    measure: 'queueOfTen',
    about: 'A queue of 10 behind one holder, which releases; per waiter.',
  }),
];

const nodeRows: readonly Row[] = [
  timed({
    row: 'contended, limit 10',
    cell: contendedByTenCell.id,
    measure: 'contendedByTen',
    about: 'The same on a limit of 10, each holding its permit over one await.',
  }),
  timed({
    row: 'uncontended',
    cell: uncontendedCell.id,
    measure: 'uncontended',
    about: 'One task acquires and releases without contention, the common case.',
  }),
  timed({
    row: 'uncontended, tried first',
    cell: triedFirstCell.id,
    measure: 'triedFirst',
    about: 'The same with a synchronous attempt first, and a wait only if it fails.',
  }),
  timed({
    row: '100,000 waiters',
    cell: deepCell.id,
    measure: 'deepQueue',
    about: 'A queue of 100,000, which takes seconds if the cost grows with the length.',
  }),
  {
    row: 'memory of a waiter',
    cell: memoryCell.id,
    measure: 'bytesPerWaiter',
    unit: 'bytes',
    better: 'lower',
    about: 'The heap of 10,000 promises that wait behind one holder; per waiter.',
  },
  timed({
    row: 'every second waiter aborted',
    cell: abortedCell.id,
    measure: 'aborted',
    about: '5,000 waiters, 2,500 of them cancelled by an AbortSignal of their own; per waiter.',
  }),
  timed({
    row: 'run(fn), one after the other',
    cell: runCell.id,
    measure: 'runSerial',
    about:
      'An async function is run on a limit of 1 and awaited before the next, so there is no queue.',
  }),
  timed({
    row: 'run(fn), 5,000 queued',
    cell: runCell.id,
    measure: 'runQueued',
    about: '5,000 async functions at once on a limit of 1.',
  }),
];

const rowsElsewhere = waitingElsewhere.flatMap(({ name, cell }) =>
  waitingRows.map((row) => ({ ...row, row: `${row.row}, ${name}`, cell: cell.id })),
);

const table: Table = {
  table: 'semaphore',
  title: 'Async semaphores',
  headline: {
    ours: "Pointsman's semaphore",
    where: 'in workerd',
    work: 'requests of 5,000 acquires each, in workerd',
  },
  document: {
    title: 'Benchmark of popular async semaphore / mutex libraries in workerd',
    source: 'https://github.com/henrygd/semaphore-wrangler-benchmark',
    bestOf: 3,
  },
  subjects,
  cells: [
    documentCell,
    wholeRunCell,
    waitingCell,
    contendedByTenCell,
    uncontendedCell,
    triedFirstCell,
    deepCell,
    memoryCell,
    abortedCell,
    runCell,
    ...waitingElsewhere.map(({ cell }) => cell),
    sharedCell,
  ],
  rows: [...documentRows, ...waitingRows, ...nodeRows, ...rowsElsewhere],
  behaviours: [sharedBehaviours],
  tools: ['workerd', 'autocannon', 'esbuild', 'events'],
  // Computed on demand, because every cell's process loads this table.
  get otherVersions() {
    return { driver: findDriver().name, ...runtimeVersions() };
  },
  async prepare() {
    await Promise.all([
      ...documentCell.subjects.map((name) => bundleWorker('document', name)),
      ...sharedCell.subjects.map((name) => bundleWorker('shared', name)),
    ]);
  },
};

export default table;
