/**
 * The table `offload`: the published benchmark of password hashing in a web server, and what it leaves out: the
 * latency of other requests meanwhile, other programs on the machine, the overhead of a task, short tasks, payloads,
 * and the behaviour when a task fails.
 */
import { conditions, conditionWords } from '../../harness/condition.js';
import type { Cell, Row, Subject, Table } from '../../harness/table.js';
import { besideCell } from './cells/beside-programs.js';
import { documentCell } from './cells/document.js';
import { coldMeasure, depths, emptyCells, emptyMeasure, threadCounts } from './cells/empty.js';
import { faultNames, faultsCell } from './cells/faults.js';
import { payloadCells, payloadMeasure } from './cells/payloads.js';
import {
  kinds,
  type Length,
  lengths,
  workCellId,
  workCells,
  depths as workDepths,
  workMeasure,
} from './cells/work.js';
import calledDirectly from './floors/called-directly.js';
import { handOver } from './floors/hand-over.js';
import { hashingAlone } from './floors/hashing-alone.js';
import { mainThreadAlone } from './floors/main-thread-alone.js';
import { threadsAlone } from './floors/threads-alone.js';
import { abVersion, type ReportLine, reportLines } from './server/ab.js';
import { async, hashing, native, sync } from './server/hashing.js';
import { barePostMessage, headlinePools, politePools, pools } from './subjects/index.js';
import { payloads } from './workloads/lanes.js';
import { processorTimeOf } from './workloads/throughput.js';
import { findTurnsPerMicrosecond } from './workloads/turns.js';

const names = (subjects: readonly Subject[]) => subjects.map(({ name }) => name);

const [emptyCell, emptyOnAllCores] = emptyCells;
if (!emptyCell || !emptyOnAllCores)
  throw new Error('expected empty tasks on one thread and on all');

/** A figure, and the processor time per task beside it. */
function tasksPerSecond(measure: string) {
  const processorTime = processorTimeOf(measure);
  return { unit: 'tasks/s', better: 'higher', measure, processorTime } as const;
}

const headlineMeasure = emptyMeasure('one thread', 16, 'quiet');
const headlineCell: Cell = {
  ...emptyCell,
  id: 'headline',
  subjects: [...names(pools), calledDirectly.name],
  expectedMilliseconds: 200,
};

const headlineRow: Row = {
  ...tasksPerSecond(headlineMeasure),
  row: 'an empty task, 16 in flight: piscina, tinypool, workerpool',
  cell: headlineCell.id,
  subjects: [...names(headlinePools), barePostMessage.name, calledDirectly.name],
  floor: barePostMessage.name,
  about:
    'A number goes to the only thread and back; 16 tasks in flight at any time. Nothing else runs, so idle cores sleep. The next row has all subjects.',
};

const emptyRows = threadCounts.flatMap((threads) =>
  conditions.flatMap((condition) =>
    depths.map((depth): Row => {
      const isFull = threads === 'one thread' && condition === 'quiet';
      const measure = emptyMeasure(threads, depth, condition);
      const cell = threads === 'one thread' ? emptyCell : emptyOnAllCores;
      return {
        ...tasksPerSecond(measure),
        row: `an empty task, ${depth} in flight, ${threads}, ${condition}`,
        cell: (measure === headlineMeasure ? headlineCell : cell).id,
        subjects: [...names(pools), ...(depth === 1 ? [handOver.name] : []), calledDirectly.name],
        floor: barePostMessage.name,
        about: `A number goes to a thread and back; ${depth} tasks in flight at any time. ${conditionWords[condition]}`,
        ...(isFull
          ? {}
          : {
              matrix: {
                title: `An empty task, ${threads}`,
                block: `tasks/s, ${condition}`,
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
  about: 'The library is imported, a pool of one thread is created, and one task runs in it.',
};

const workRows = kinds.flatMap((kind) =>
  (Object.keys(lengths) as Length[]).flatMap((length) =>
    conditions.flatMap((condition) =>
      workDepths.map(
        (depth): Row => ({
          ...tasksPerSecond(workMeasure(depth, condition)),
          row: `tasks of ${length} that ${kind}, ${depth} in flight, ${condition}`,
          matrix: {
            title: `Tasks that ${kind === 'compute' ? 'compute' : 'compute and also await'}`,
            block: `tasks/s, ${length} each, all cores, ${condition}`,
            column: `${depth} in flight`,
          },
          cell: workCellId(kind, length),
          floor: kind === 'compute' ? threadsAlone.name : barePostMessage.name,
          about: `Tasks that compute for ${length}${kind === 'compute' ? '' : ' and yield to the event loop of their thread once'}, ${depth} in flight at any time, on a thread per core. ${conditionWords[condition]}`,
        }),
      ),
    ),
  ),
);

const payloadRows = conditions.flatMap((condition) =>
  payloadCells.flatMap(({ id: cell }, index) =>
    Object.entries(Object.values(payloads)[index] ?? {}).map(
      ([payload, { inFlight }]): Row => ({
        ...tasksPerSecond(payloadMeasure(payload, condition)),
        row: `${payload}, there and back, ${condition}`,
        matrix: {
          title: 'Tasks that carry something there and back',
          block: `tasks/s, all cores, ${condition}`,
          column: `${payload}; ${inFlight} in flight`,
        },
        cell,
        floor: barePostMessage.name,
        about: `A task receives ${payload} and returns it; ${inFlight} in flight at any time, on a thread per core. ${conditionWords[condition]}`,
      }),
    ),
  ),
);

const besideAbout =
  'A server hashes passwords at cost 8, with 8 requests waiting at any time, while other programs keep every core busy. bcrypt.hashSync runs on the event loop.';

const besideRows: readonly Row[] = [
  {
    row: 'beside other programs: jobs done in 5 s, all cores busy',
    measure: 'jobs',
    unit: 'jobs',
    better: 'higher',
    about: `${besideAbout} Threads with a lower priority give way to those programs too.`,
  } as const,
  {
    row: 'beside other programs: /ping meanwhile, median, all cores busy',
    measure: 'pingMedian',
    unit: 'ms',
    better: 'lower',
    about: `${besideAbout} A light request every 20 ms.`,
  } as const,
  {
    row: 'beside other programs: /ping meanwhile, 99th percentile, all cores busy',
    measure: 'pingP99',
    unit: 'ms',
    better: 'lower',
    about: `${besideAbout} A light request every 20 ms.`,
  } as const,
].map((row) => ({ ...row, cell: besideCell.id }));

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
        'An Express route hashes a password with bcrypt at cost 10; ab keeps 20 requests waiting. Two cores cannot hash more than twice as much as one.',
    };
  }
  return {
    ...described,
    row: line,
    better: line === 'Transfer rate' ? 'higher' : 'lower',
    aside: true,
    subjects: names(hashing),
    about: `As printed by ab: ${line}.`,
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
      'While ab runs, /ping is requested every 20 ms, independent of the answers, and timed from the moment at which it was due. The event loop delay is sampled once per turn; a server with long delays has few turns.',
  }),
);

const table: Table = {
  table: 'offload',
  title: 'Work taken off the event loop',
  headline: {
    ours: "Pointsman's pool",
    where:
      'among piscina, tinypool and workerpool, in empty tasks, 16 in flight on one thread, on an otherwise idle machine',
    work: 'empty tasks sent to a thread and back',
  },
  document: {
    title: 'Async vs Sync NodeJs: A Simple Benchmark (bcrypt in Express)',
    source: 'https://jinoantony.com/blog/async-vs-sync-nodejs-a-simple-benchmark',
    layout: 'line per figure',
  },
  subjects: [
    ...pools.filter(({ role }) => role !== 'floor'),
    ...politePools,
    sync,
    async,
    native,
    barePostMessage,
    calledDirectly,
    handOver,
    threadsAlone,
    mainThreadAlone,
    hashingAlone,
  ],
  cells: [
    headlineCell,
    emptyCell,
    emptyOnAllCores,
    documentCell,
    besideCell,
    ...workCells,
    ...payloadCells,
    faultsCell,
  ],
  rows: [
    headlineRow,
    ...emptyRows,
    coldRow,
    ...documentRows,
    ...meanwhileRows,
    ...besideRows,
    ...workRows,
    ...payloadRows,
  ],
  behaviours: [
    {
      title: 'When a task goes wrong',
      cell: faultsCell.id,
      about:
        'One thread, each fault in a process of its own; then the pool gets one more task. A task that has not ended after 2 s counts as hanging.',
      columns: faultNames,
    },
  ],
  tools: ['express'],
  async prepare() {
    findTurnsPerMicrosecond();
    return undefined;
  },
  // Computed on demand, because every cell's process loads this table.
  get otherVersions() {
    const version = abVersion();
    return version === undefined ? {} : { ab: version };
  },
};

export default table;
