/**
 * The table `bridge`: the published benchmark of calls from a worker into its page, and what it leaves out: other
 * platforms, a busy machine, the processor time and the latency of a call, concurrent calls, and larger answers.
 */

import { type Condition, conditions, conditionWords } from '../../harness/condition.js';
import type { Cell, Row, Table } from '../../harness/table.js';
import { averageTime, margin, timedCalls } from './caller/perform.js';
import { bridgeCell, measureName, processorTimeName, whoDo } from './cells/cell.js';
import { chromiumVersion, findChromium } from './page/browser.js';
import { bundlePage } from './page/bundle.js';
import type { Platform } from './subject.js';
import {
  crossingFloor,
  documentVariants,
  lowestFloor,
  subjectNamed,
  subjects,
} from './subjects/index.js';
import { payloadNames, type Work } from './work.js';

const throughputSlice = 50;
/** A 99th percentile needs some hundred calls. */
const latencySlice = 250;
/** Some thirty frames. */
const watchedSlice = 500;

const works: Readonly<Record<Platform, readonly Work[]>> = {
  Chromium: ['call', 'awaited', 'async function', 'in flight', 'batch of 8', ...payloadNames],
  Node: ['call', 'awaited', 'in flight', 'batch of 8', ...payloadNames],
  'Node, into a worker': ['call', 'source text'],
};
const platforms = Object.keys(works) as Platform[];
const conditionsAtAnEnd = ['quiet', 'all cores busy'] as const;

/** The document's figure, whose machine was idle, and the same with a core less. */
const headlineCell = bridgeCell({
  id: 'headline',
  platform: 'Chromium',
  works: ['call'],
  subjects: whoDo('Chromium', 'call').filter(isInHeadline),
  sliceMilliseconds: throughputSlice,
  expectedMilliseconds: 2_000,
});

/** A peer that can only await has its rows below, unless the document has it. */
function isInHeadline(name: string): boolean {
  const subject = subjectNamed(name);
  if (subject.role === 'floor') return name === lowestFloor;
  return documentVariants.includes(subject) || subject.doneBy?.awaited === undefined;
}

const headlineConditions: readonly Condition[] = ['quiet', 'one core busy'];

const cells: readonly Cell[] = [
  headlineCell,
  ...platforms.map((platform) =>
    bridgeCell({
      id: throughputCell(platform),
      platform,
      works: works[platform],
      sliceMilliseconds: throughputSlice,
      expectedMilliseconds: platform === 'Chromium' ? 3_000 : 1_500,
    }),
  ),
  ...platforms.map((platform) =>
    bridgeCell({
      id: latencyCell(platform),
      platform,
      works: ['single'],
      sliceMilliseconds: latencySlice,
      expectedMilliseconds: platform === 'Chromium' ? 2_000 : 800,
    }),
  ),
  bridgeCell({
    id: 'chromium-watched',
    platform: 'Chromium',
    works: ['frames', 'idle'],
    sliceMilliseconds: watchedSlice,
    expectedMilliseconds: 2_000,
  }),
];

function throughputCell(platform: Platform): string {
  return platform.toLowerCase().replaceAll(/\W+/g, '-');
}

function latencyCell(platform: Platform): string {
  return `${throughputCell(platform)}-latency`;
}

function cellOfCall(platform: Platform, condition: Condition): string {
  return platform === 'Chromium' && headlineConditions.includes(condition)
    ? headlineCell.id
    : throughputCell(platform);
}

interface Throughput {
  readonly work: Work;
  readonly title: string;
  readonly about: string;
  readonly conditions: readonly Condition[];
}

const throughputs: readonly Throughput[] = [
  {
    work: 'call',
    title: 'one blocking call',
    conditions,
    about:
      'A worker requests the position of a box and waits for the eight numbers, in a loop. A subject that cannot block awaits.',
  },
  {
    work: 'awaited',
    title: 'one awaited call',
    conditions: conditionsAtAnEnd,
    about: 'The same, awaited, one call at a time.',
  },
  {
    work: 'async function',
    title: 'one blocking call of an async function',
    conditions: ['quiet'],
    about:
      'A worker blocks for the eight numbers of a function that is `async` in the host, in a loop.',
  },
  {
    work: 'in flight',
    title: '64 calls in flight',
    conditions: conditionsAtAnEnd,
    about: '64 awaited calls at any time, each followed by the next.',
  },
  {
    work: 'batch of 8',
    title: 'batches of 8',
    conditions: conditionsAtAnEnd,
    about:
      'Eight blocking calls in one round trip. A subject without batches makes one call after the other.',
  },
  {
    work: 'source text',
    title: '8 kB of text to a function and back',
    conditions,
    about:
      "Node's main thread passes a source text to an `async` function of its worker and blocks for the text that it returns, as linters call a formatter.",
  },
];

const intoWorker =
  "Node's main thread calls an `async` function of its worker and blocks for the eight numbers, in a loop.";

function throughputRow(
  platform: Platform,
  { work, title, about }: Throughput,
  condition: Condition,
): Row {
  const crosses = platform === 'Node' && work === 'call' && condition === 'quiet';
  const words = platform === 'Node, into a worker' && work === 'call' ? intoWorker : about;
  return {
    row: `${platform}, ${title}, ${condition}`,
    cell: work === 'call' ? cellOfCall(platform, condition) : throughputCell(platform),
    measure: measureName(condition, work),
    processorTime: processorTimeName(condition, work),
    unit: 'calls/s',
    better: 'higher',
    subjects: subjectsOf(platform, work, condition),
    floor: crosses ? crossingFloor : lowestFloor,
    about: `${words} ${conditionWords[condition]}`,
  };
}

function subjectsOf(platform: Platform, work: Work, condition: Condition): readonly string[] {
  const isHeadline = work === 'call' && cellOfCall(platform, condition) === headlineCell.id;
  return isHeadline ? headlineCell.subjects : whoDo(platform, work);
}

/** The published figures: a column each, by the document's order of variants. */
const published = {
  'ops/sec': [24_980, 46_396, 35_492, 35_990, 30_683],
  'Average Time': [40_032, 21_553, 28_175, 27_785, 32_590],
  Margin: [2.57, 2.71, 2.91, 2.59, 3.77],
  Samples: [12_490, 23_203, 17_750, 17_999, 15_342],
};

function documentColumn(column: keyof typeof published) {
  const figures = documentVariants.map(
    ({ name }, index) => [name, published[column][index] ?? 0] as const,
  );
  return { column, published: Object.fromEntries(figures) };
}

const [callWork] = throughputs as [Throughput];
const call: Row = throughputRow('Chromium', callWork, 'quiet');

/** The document's own row, then its other columns. */
const documentRows: readonly Row[] = [
  {
    ...call,
    ...documentColumn('ops/sec'),
    about: `${call.about} Pointsman and coincident wait awake, which needs a free core for each of the two threads. The document concludes that Atomics bring 1.5 times the calls (port_sab__custom against port_port__structured), that CBOR costs 1.2 times (the variants with __cbor against those with __custom), and that waitAsync is not faster than a MessagePort (sab_sab against port_sab). Their lines show what holds here.`,
  },
  {
    ...call,
    ...documentColumn('Average Time'),
    row: 'Chromium, average time of a blocking call, quiet',
    measure: measureName('quiet', averageTime),
    aside: true,
    unit: 'ns',
    better: 'lower',
    about: 'The same in nanoseconds per call.',
  },
  {
    ...call,
    ...documentColumn('Margin'),
    row: 'Chromium, margin of a blocking call, quiet',
    measure: measureName('quiet', margin),
    aside: true,
    unit: '±%',
    better: 'lower',
    about:
      'The 95 % margin of the average time within a slice. The document times each call, the lab 0.1 ms of calls.',
  },
  {
    ...call,
    ...documentColumn('Samples'),
    row: 'Chromium, timed blocking calls, quiet',
    measure: measureName('quiet', timedCalls),
    aside: true,
    unit: 'calls',
    better: 'higher',
    about: `The number of calls in a slice: of ${throughputSlice} ms here, of 500 ms in the document.`,
  },
];

const callMeasures = [
  {
    measure: 'p50',
    block: 'median, µs',
    about:
      'The median time of a single call. In Chromium it is that of groups of 16 calls, because its clock moves in steps of 5 µs.',
  },
  {
    measure: 'p99',
    block: '99th percentile, µs',
    about:
      'One call in a hundred takes longer than this. In Chromium the clock moves in steps of 5 µs.',
  },
] as const;

function latencyRows(platform: Platform): Row[] {
  return callMeasures.flatMap(({ measure, block, about }) =>
    conditionsAtAnEnd.map(
      (condition): Row => ({
        row: `${platform}, one call: ${block}, ${condition}`,
        matrix: { title: `One call at a time, ${platform}`, block, column: condition },
        cell: latencyCell(platform),
        measure: measureName(condition, measure),
        unit: 'µs',
        better: 'lower',
        about: `${about} ${conditionWords[condition]}`,
      }),
    ),
  );
}

function processorTimeRows(platform: Platform): Row[] {
  const block = 'processor time, µs per call';
  return conditions.map(
    (condition): Row => ({
      row: `${platform}, one call: ${block}, ${condition}`,
      matrix: { title: `One call at a time, ${platform}`, block, column: condition },
      cell: cellOfCall(platform, condition),
      measure: processorTimeName(condition, 'call'),
      unit: 'µs',
      better: 'lower',
      subjects: subjectsOf(platform, 'call', condition),
      about: `The processor time of all threads and processes of both sides for one call. ${conditionWords[condition]}`,
    }),
  );
}

function payloadRows(platform: Platform): Row[] {
  return conditionsAtAnEnd.flatMap((condition) =>
    payloadNames.map(
      (payload): Row => ({
        row: `${platform}, ${payload}, ${condition}`,
        matrix: {
          title: `Answers with more in them, ${platform}`,
          block: `calls/s, ${condition}`,
          column: payload,
        },
        cell: throughputCell(platform),
        measure: measureName(condition, payload),
        processorTime: processorTimeName(condition, payload),
        unit: 'calls/s',
        better: 'higher',
        subjects: whoDo(platform, payload),
        about: `One call after the other that returns ${payload}. ${conditionWords[condition]}`,
      }),
    ),
  );
}

const watchedRows: readonly Row[] = [
  ...conditionsAtAnEnd.map(
    (condition): Row => ({
      row: `Chromium, frames under calls, ${condition}`,
      cell: 'chromium-watched',
      measure: measureName(condition, 'frames'),
      processorTime: processorTimeName(condition, 'frames'),
      unit: 'ms',
      better: 'lower',
      subjects: whoDo('Chromium', 'frames'),
      about: `The longest time between two frames of the page in half a second in which a worker calls without a pause. An idle page draws one every 16.7 ms. ${conditionWords[condition]}`,
    }),
  ),
  {
    row: 'Chromium, connected and idle',
    cell: 'chromium-watched',
    measure: measureName('quiet', 'idle'),
    unit: 'ms/s',
    better: 'lower',
    subjects: whoDo('Chromium', 'idle'),
    about: 'Processor time per second of all processes and threads, without any calls.',
  },
];

const table: Table = {
  table: 'bridge',
  title: 'Calls from a worker',
  headline: {
    ours: "Pointsman's bridge",
    where:
      'in blocking calls from a worker into its page, on an otherwise idle machine with a core for each thread: both spin while they wait',
    work: 'blocking calls from a worker into its page',
  },
  document: {
    title: 'Atomics Throughput Benchmark (Chrome 113, M1 MacBook Pro)',
    source: 'https://github.com/search?type=code&q=port_sab__custom',
  },
  subjects,
  cells,
  rows: [
    ...documentRows,
    ...platforms.flatMap((platform) =>
      throughputs
        .filter(({ work }) => works[platform].includes(work))
        .flatMap((of) => of.conditions.map((condition) => throughputRow(platform, of, condition)))
        .filter(({ row }) => row !== call.row),
    ),
    ...watchedRows,
    ...platforms.flatMap((platform) => [...latencyRows(platform), ...processorTimeRows(platform)]),
    ...payloadRows('Chromium'),
    ...payloadRows('Node'),
  ],
  tools: ['cbor-x', 'playwright-core'],
  get otherVersions() {
    const version = chromiumVersion();
    return version === undefined ? {} : { chromium: version };
  },
  async prepare(report) {
    if (findChromium() === undefined) return undefined;
    report('bundling the pages');
    await Promise.all(whoDo('Chromium', ...works.Chromium, 'idle').map(bundlePage));
    return undefined;
  },
};

export default table;
