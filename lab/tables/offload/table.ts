/**
 * The table `offload`: the published benchmark of password hashing in a web server, and what it leaves
 * open: everybody else's requests meanwhile, what a task costs before it does any work, what it may carry,
 * how short it may be, and what becomes of it when something goes wrong.
 */
import { type Condition, conditions } from '../../harness/condition.js';
import type { Row, Subject, Table } from '../../harness/table.js';
import { documentCell } from './cells/document.js';
import { coldMeasure, depths, emptyCell, emptyMeasure, threadCounts } from './cells/empty.js';
import { faultNames, faultsCell } from './cells/faults.js';
import { payloadsCell } from './cells/payloads.js';
import { lengths, numbersInFlight, worthCell, worthMeasure } from './cells/worth.js';
import calledDirectly from './floors/called-directly.js';
import { handOver } from './floors/hand-over.js';
import { hashingAlone } from './floors/hashing-alone.js';
import { threadsAlone } from './floors/threads-alone.js';
import { abVersion, type ReportLine, reportLines } from './server/ab.js';
import { async, hashing, native, sync } from './server/hashing.js';
import { headlinePools, politePools, pools } from './subjects/index.js';
import { payloads } from './workloads/lanes.js';

const names = (subjects: readonly Subject[]) => subjects.map(({ name }) => name);

const conditionWords: Readonly<Record<Condition, string>> = {
  quiet: 'Nobody else runs, so idle cores sleep.',
  loaded: 'Another process keeps a core busy.',
};

const perSecond = { unit: 'tasks/s', better: 'higher' } as const;

const headlineRow: Row = {
  ...perSecond,
  row: 'an empty task, 16 in flight: piscina, tinypool, workerpool',
  cell: emptyCell.id,
  measure: emptyMeasure('one thread', 16, 'quiet'),
  subjects: [...names(headlinePools), calledDirectly.name],
  about:
    'A number is given to the only thread and comes back; 16 at any time, each followed by the next. Nobody else runs, so idle cores sleep. The next row has everybody.',
};

const emptyRows = threadCounts.flatMap((threads) =>
  conditions.flatMap((condition) =>
    depths.map((depth): Row => {
      const isFull = threads === 'one thread' && condition === 'quiet';
      return {
        ...perSecond,
        row: `an empty task, ${depth} in flight, ${threads}, ${condition}`,
        cell: emptyCell.id,
        measure: emptyMeasure(threads, depth, condition),
        subjects: [...names(pools), ...(depth === 1 ? [handOver.name] : []), calledDirectly.name],
        floor: depth === 1 ? handOver.name : calledDirectly.name,
        about: `A number is given to a thread and comes back; ${depth} at any time, each followed by the next. ${conditionWords[condition]}`,
        ...(isFull
          ? {}
          : {
              matrix: {
                title: 'An empty task, in other circumstances',
                block: `tasks/s, ${threads}, ${condition}`,
                column: `${depth} in flight`,
              },
            }),
      };
    }),
  ),
);

const coldRow: Row = {
  row: 'first result from cold',
  cell: emptyCell.id,
  measure: coldMeasure,
  unit: 'ms',
  better: 'lower',
  subjects: names(pools),
  about: 'The library is imported, a pool of one thread made, and one task done in it.',
};

const payloadRows = Object.entries(payloads).map(
  ([payload, { inFlight }]): Row => ({
    ...perSecond,
    row: `${payload}, there and back`,
    matrix: {
      title: 'Tasks that carry something there and back',
      block: 'tasks/s, one thread, quiet',
      column: `${payload}; ${inFlight} in flight`,
    },
    cell: payloadsCell.id,
    measure: payload,
    about: `A task is given ${payload} and gives it back; ${inFlight} at any time, on one thread.`,
  }),
);

const worthRows = numbersInFlight.flatMap((inFlight) =>
  lengths.map(
    (length): Row => ({
      row: `tasks of ${length} µs, ${inFlight} in flight, all cores`,
      cell: worthCell.id,
      measure: worthMeasure(length, inFlight),
      unit: 'times the main thread',
      better: 'higher',
      about: `Pieces of work of ${length} µs, ${inFlight} at any time on a thread for each core, against the main thread that does them by itself. Below 1 it is faster not to hand them over.`,
    }),
  ),
);

/** The document's table: sync, async. */
const published: Readonly<Record<ReportLine, readonly [number, number]>> = {
  'Concurrency Level': [20, 20],
  'Time taken for tests': [23.247, 10.141],
  'Complete requests': [250, 250],
  'Failed requests': [0, 0],
  'Keep-Alive requests': [250, 250],
  'Total transferred': [66_250, 66_250],
  'HTML transferred': [15_000, 15_000],
  'Requests per second': [10.75, 24.65],
  'Time per request (mean)': [1_859.754, 811.281],
  'Time per request (mean, across all concurrent requests)': [92.988, 40.564],
  'Transfer rate': [2.78, 6.38],
};

const documentRows = (Object.keys(published) as ReportLine[]).map((line): Row => {
  const [ofSync, ofAsync] = published[line];
  const isRate = line === 'Requests per second';
  const described = {
    column: line,
    cell: documentCell.id,
    measure: line,
    unit: reportLines[line],
    published: { [sync.name]: ofSync, [async.name]: ofAsync },
  };
  if (isRate) {
    return {
      ...described,
      row: 'requests per second',
      better: 'higher',
      about:
        'An Express route hashes a password with bcrypt, at the cost of 10; ab keeps 20 requests waiting. Two cores cannot hash more than twice what one can.',
    };
  }
  return {
    ...described,
    row: line,
    better: line === 'Transfer rate' ? 'higher' : 'lower',
    aside: true,
    subjects: names(hashing),
    about: `As ab prints it: ${line}.`,
  };
});

const meanwhile = [
  { measure: 'pingMedian', block: 'a light request, ms', column: 'median' },
  { measure: 'pingP99', block: 'a light request, ms', column: '99th percentile' },
  { measure: 'pingMax', block: 'a light request, ms', column: 'longest' },
  { measure: 'delayP99', block: 'event loop held up, ms', column: '99th percentile' },
  { measure: 'delayMax', block: 'event loop held up, ms', column: 'longest' },
] as const;

const meanwhileRows = meanwhile.map(
  ({ measure, block, column }): Row => ({
    row: `meanwhile: ${block}, ${column}`,
    matrix: { title: 'Everybody else, while passwords are hashed', block, column },
    cell: documentCell.id,
    measure,
    unit: 'ms',
    better: 'lower',
    subjects: names(hashing),
    about:
      'While ab runs, /ping is asked for every 20 ms, whatever became of the one before, and timed from the moment at which it was due. How long the event loop is held up is counted by its turns, of which a server that is held up long has few.',
  }),
);

const table: Table = {
  table: 'offload',
  title: 'Work taken off the event loop',
  headline: {
    ours: "Pointsman's pool",
    where:
      'among piscina, tinypool and workerpool, in empty tasks, 16 in flight on one thread, on a machine with nothing else to do',
    work: 'empty tasks given to a thread and back',
  },
  document: {
    title: 'Async vs Sync NodeJs: A Simple Benchmark (bcrypt in Express)',
    source: 'https://jinoantony.com/blog/async-vs-sync-nodejs-a-simple-benchmark',
    layout: 'line per figure',
  },
  subjects: [
    ...pools,
    ...politePools,
    sync,
    async,
    native,
    calledDirectly,
    handOver,
    threadsAlone,
    hashingAlone,
  ],
  cells: [emptyCell, documentCell, worthCell, payloadsCell, faultsCell],
  rows: [
    headlineRow,
    ...emptyRows,
    coldRow,
    ...documentRows,
    ...meanwhileRows,
    ...worthRows,
    ...payloadRows,
  ],
  behaviours: [
    {
      title: 'When a task goes wrong',
      cell: faultsCell.id,
      about:
        'One thread, each fault in a process of its own; then the pool is asked for one more task. A task that has not ended after 2 s is said to hang.',
      columns: faultNames,
    },
  ],
  tools: ['express'],
  // Looked up only when it is asked for: every cell's process loads this table.
  get otherVersions() {
    const version = abVersion();
    return version === undefined ? {} : { ab: version };
  },
};

export default table;
