/**
 * The table `semaphore`: the published benchmark of async semaphores in workerd, and what it leaves out, in Node;
 * queues in the newest Node and in Bun too.
 */
import type { Row, Table } from '../../harness/table.js';
import { documentCell } from './cells/document.js';
import {
  abortedCell,
  contendedByTenCell,
  deepCell,
  runCell,
  runTenCell,
  triedFirstCell,
  uncontendedCell,
  waitingCell,
  waitingElsewhere,
} from './cells/node.js';
import { sharedCell } from './cells/shared.js';
import { findDriver } from './drivers/driver.js';
import { runtimeVersions } from './runtimes.js';
import { subjectNamed, subjects } from './subjects/index.js';
import { bundleWorker } from './worker/bundle.js';

const documentRows: readonly Row[] = [
  {
    row: 'requests per second',
    column: 'Requests/sec',
    cell: documentCell.id,
    measure: 'requestsPerSecond',
    unit: 'requests/s',
    better: 'higher',
    published: {
      '@henrygd/semaphore': 959.9046,
      'async-mutex': 582.7553,
      'async-sema': 375.7332,
      '@shopify/semaphore': 167.8239,
    },
    about:
      'Each request makes a semaphore of 1, issues 5,000 acquires with .then and releases in the callback: 1,000 requests over 50 connections to one workerd.',
  },
  {
    row: 'total time',
    column: 'Total (sec)',
    cell: documentCell.id,
    measure: 'totalSeconds',
    unit: 's',
    better: 'lower',
    published: {
      '@henrygd/semaphore': 1.0418,
      'async-mutex': 1.716,
      'async-sema': 2.6615,
      '@shopify/semaphore': 5.9586,
    },
    about: 'The same 1,000 requests, from the first sent to the last answered.',
  },
  {
    row: 'average request',
    column: 'Average',
    cell: documentCell.id,
    measure: 'averageSeconds',
    unit: 's',
    better: 'lower',
    published: {
      '@henrygd/semaphore': 0.0512,
      'async-mutex': 0.0843,
      'async-sema': 0.1308,
      '@shopify/semaphore': 0.2925,
    },
    about: 'The mean time of one request, most of it spent behind the 49 others.',
  },
  {
    row: 'slowest request',
    column: 'Slowest',
    cell: documentCell.id,
    measure: 'slowestSeconds',
    unit: 's',
    better: 'lower',
    published: {
      '@henrygd/semaphore': 0.0772,
      'async-mutex': 0.1221,
      'async-sema': 0.1818,
      '@shopify/semaphore': 0.4063,
    },
    about: 'The longest time of one request.',
  },
];

/** Properties of the rows measured in this process. */
const perOperation = { unit: 'ns', better: 'lower' } as const;

/** The rows that are measured in every runtime. */
const waitingRows: readonly Row[] = [
  {
    ...perOperation,
    row: "the document's loop, awaited",
    cell: waitingCell.id,
    measure: 'documentAwaited',
    about: 'The same 5,000 acquires on a fresh semaphore of 1, by async functions with await.',
  },
  {
    ...perOperation,
    row: 'contended, limit 1',
    cell: waitingCell.id,
    measure: 'contendedByOne',
    about: '200 tasks take 25 turns each on a limit of 1 and release at once: a contended lock.',
  },
  {
    ...perOperation,
    row: '10 waiters',
    cell: waitingCell.id,
    measure: 'queueOf10',
    about: 'A queue of 10 behind one holder, which releases; per waiter.',
  },
  {
    ...perOperation,
    row: '100 waiters',
    cell: waitingCell.id,
    measure: 'queueOf100',
    about: 'A queue of 100 behind one holder, which releases; per waiter.',
  },
  {
    ...perOperation,
    row: '5,000 waiters',
    cell: waitingCell.id,
    measure: 'queueOf5000',
    about: 'A queue of 5,000 behind one holder, which releases; per waiter.',
  },
];

const nodeRows: readonly Row[] = [
  {
    ...perOperation,
    row: 'contended, limit 10',
    cell: contendedByTenCell.id,
    measure: 'contendedByTen',
    about: 'The same on a limit of 10, each holding its permit over one await.',
  },
  {
    ...perOperation,
    row: 'uncontended',
    cell: uncontendedCell.id,
    measure: 'uncontended',
    about: 'One task acquires and releases without contention, the common case.',
  },
  {
    ...perOperation,
    row: 'uncontended, released exactly once',
    cell: uncontendedCell.id,
    measure: 'uncontended',
    subjects: uncontendedCell.subjects.filter((name) => {
      const { role, permits } = subjectNamed(name);
      return role === 'floor' || permits?.releasesOnce;
    }),
    about:
      'The same for subjects whose permit, released twice, cannot free the permit of another holder.',
  },
  {
    ...perOperation,
    row: 'uncontended, tried first',
    cell: triedFirstCell.id,
    measure: 'triedFirst',
    about: 'The same with a synchronous attempt first, and a wait only if it fails.',
  },
  {
    ...perOperation,
    row: '100,000 waiters',
    cell: deepCell.id,
    measure: 'deepQueue',
    about: 'A queue of 100,000, which takes seconds if the cost grows with the length.',
  },
  {
    ...perOperation,
    row: 'every second waiter aborted',
    cell: abortedCell.id,
    measure: 'aborted',
    about: '5,000 waiters, 2,500 of them cancelled by an AbortSignal of their own; per waiter.',
  },
  {
    ...perOperation,
    row: 'run(fn), one after the other',
    cell: runCell.id,
    measure: 'runSerial',
    about:
      'An async function is run on a limit of 1 and awaited before the next, so there is no queue.',
  },
  {
    ...perOperation,
    row: 'run(fn), 5,000 queued',
    cell: runCell.id,
    measure: 'runQueued',
    about: '5,000 async functions at once on a limit of 1.',
  },
  {
    ...perOperation,
    row: 'run(fn), limit 10',
    cell: runTenCell.id,
    measure: 'runTen',
    about: '5,000 async functions at once on a limit of 10, each with one await inside.',
  },
];

const rowsElsewhere = waitingElsewhere.flatMap(({ name, cell }) =>
  waitingRows.map((row) => ({ ...row, row: `${row.row}, ${name}`, cell: cell.id })),
);

const sharedRow: Row = {
  row: 'shared between requests in workerd',
  cell: sharedCell.id,
  measure: 'answered',
  unit: 'of 20 requests answered',
  better: 'higher',
  about:
    'A semaphore of 1 that all requests of a worker share, held for 3 ms by each of 20 that arrive at once. The runtime must not consider a waiting request hung.',
};

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
    waitingCell,
    contendedByTenCell,
    uncontendedCell,
    triedFirstCell,
    deepCell,
    abortedCell,
    runCell,
    runTenCell,
    ...waitingElsewhere.map(({ cell }) => cell),
    sharedCell,
  ],
  rows: [...documentRows, ...waitingRows, ...nodeRows, ...rowsElsewhere, sharedRow],
  tools: ['workerd', 'autocannon', 'esbuild', 'events', 'tinybench'],
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
