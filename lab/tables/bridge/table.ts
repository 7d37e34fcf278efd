/**
 * The table `bridge`: the published benchmark of calls from a worker into its page, and what it leaves out: other
 * platforms, a busy machine, the processor time of a call, concurrent calls, and larger answers.
 */

import { type Condition, conditions, conditionWords } from '../../harness/condition.js';
import type { Cell, Row, Table } from '../../harness/table.js';
import { chromiumCell } from './cells/chromium.js';
import { measureName, processorTimeName, steadyProcessorTime } from './cells/measure.js';
import { nodeCell } from './cells/node.js';
import { chromiumVersion, findChromium } from './page/browser.js';
import { bundlePage } from './page/bundle.js';
import type { BridgeSubject, Platform } from './subject.js';
import {
  crossingFloor,
  documentVariants,
  lowestFloor,
  subjectNamed,
  subjects,
} from './subjects/index.js';
import { payloadNames, type Work } from './work.js';

/** The document's figure on an otherwise idle machine, which its text refers to. */
const headlineWork: Work = 'call';
const headlineCell: Cell = {
  ...chromiumCell,
  id: 'headline',
  subjects: whoDo('Chromium', headlineWork).filter(
    (name) => subjectNamed(name).role !== 'floor' || name === lowestFloor,
  ),
  expectedMilliseconds: 1_500,
};

const cells: readonly { readonly platform: Platform; readonly cell: Cell }[] = [
  { platform: 'Chromium', cell: chromiumCell },
  { platform: 'Node', cell: nodeCell },
];

/** The published figures, in the document's order. */
const publishedPerSecond = [24_980, 46_396, 35_492, 35_990, 30_683];
const published = Object.fromEntries(
  documentVariants.map(({ name }, index) => [name, publishedPerSecond[index] ?? 0]),
);

function whoDo(platform: Platform, ...works: readonly Work[]): string[] {
  const does = (subject: BridgeSubject) =>
    subject.platforms.includes(platform) &&
    works.some((work) => subject.does.includes(work) || subject.sameAs?.[work] !== undefined);
  return subjects.filter(does).map(({ name }) => name);
}

interface Throughput {
  readonly work: Work;
  readonly title: string;
  readonly about: string;
}

const throughputs: readonly Throughput[] = [
  {
    work: 'call',
    title: 'one blocking call',
    about:
      'A worker requests the position of a box and waits for the eight numbers, in a loop. A subject that cannot block awaits.',
  },
  { work: 'awaited', title: 'one awaited call', about: 'The same, awaited, one call at a time.' },
  {
    work: 'async function',
    title: 'one blocking call of an async function',
    about:
      'A worker blocks for the eight numbers of a function that is `async` in the host, in a loop. The variants of the document answer at once.',
  },
  {
    work: 'in flight',
    title: '64 calls in flight',
    about: 'The same with 64 awaited calls at any time, each followed by the next.',
  },
  {
    work: 'batch of 8',
    title: 'batches of 8',
    about:
      'Eight blocking calls in one round trip. A subject without batches makes one call after the other.',
  },
  {
    work: 'batch of 64',
    title: 'batches of 64',
    about:
      '64 blocking calls in one round trip. A subject without batches makes one call after the other.',
  },
];

function throughputRow(
  { platform, cell }: (typeof cells)[number],
  { work, title, about }: Throughput,
  condition: Condition,
): Row {
  const isDocuments = platform === 'Chromium' && work === headlineWork;
  const isHeadline = isDocuments && condition === 'quiet';
  const crosses = platform === 'Node' && work === 'call' && condition === 'quiet';
  return {
    row: `${platform}, ${title}, ${condition}`,
    ...(isDocuments ? { column: `ops/sec, ${condition}`, published } : {}),
    cell: isHeadline ? headlineCell.id : cell.id,
    measure: measureName(condition, work),
    processorTime: processorTimeName(condition, work),
    unit: 'calls/s',
    better: 'higher',
    subjects: isHeadline ? headlineCell.subjects : whoDo(platform, work),
    floor: crosses ? crossingFloor : lowestFloor,
    about: `${about} ${conditionWords[condition]}`,
  };
}

const callMeasures = [
  {
    measure: 'p50',
    work: 'single',
    block: 'median, µs',
    unit: 'µs',
    about:
      'The median time of a single call. In Chromium it is that of groups of 16 calls, because its clock moves in steps of 5 µs.',
  },
  {
    measure: 'p99',
    work: 'single',
    block: '99th percentile, µs',
    unit: 'µs',
    about:
      'One call in a hundred takes longer than this. In Chromium the clock moves in steps of 5 µs.',
  },
  {
    measure: steadyProcessorTime,
    work: 'steady',
    block: 'processor time, µs per call',
    unit: 'µs',
    about: 'The processor time of all threads and processes of both sides for one call.',
  },
] as const;

function callRows({ platform, cell }: (typeof cells)[number]): Row[] {
  return callMeasures.flatMap(({ measure, work, block, unit, about }) =>
    conditions.map(
      (condition): Row => ({
        row: `${platform}, one call: ${block}, ${condition}`,
        matrix: { title: `One call at a time, ${platform}`, block, column: condition },
        cell: cell.id,
        measure: measureName(condition, measure),
        unit,
        better: 'lower',
        subjects: whoDo(platform, work),
        about: `${about} ${conditionWords[condition]}`,
      }),
    ),
  );
}

function payloadRows({ platform, cell }: (typeof cells)[number]): Row[] {
  return conditions.flatMap((condition) =>
    payloadNames.map(
      (payload): Row => ({
        row: `${platform}, ${payload}, ${condition}`,
        matrix: {
          title: `Answers with more in them, ${platform}`,
          block: `calls/s, ${condition}`,
          column: payload,
        },
        cell: cell.id,
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

function frameRow(condition: Condition): Row {
  return {
    row: `Chromium, frames under calls, ${condition}`,
    cell: chromiumCell.id,
    measure: measureName(condition, 'frames'),
    processorTime: measureName(condition, steadyProcessorTime),
    unit: 'ms',
    better: 'lower',
    subjects: whoDo('Chromium', 'frames'),
    about: `The page's animation frames while a worker calls without a pause: 99 of 100 follow the previous one within this time. An idle page draws one every 16.7 ms. ${conditionWords[condition]}`,
  };
}

function idleRow({ platform, cell }: (typeof cells)[number]): Row {
  return {
    row: `${platform}, connected and idle`,
    cell: cell.id,
    measure: measureName('quiet', 'idle'),
    unit: 'ms/s',
    better: 'lower',
    subjects: whoDo(platform, 'idle'),
    about: 'Processor time per second of all processes and threads, without any calls.',
  };
}

const table: Table = {
  table: 'bridge',
  title: 'Calls from a worker',
  headline: {
    ours: "Pointsman's bridge",
    where: 'in blocking calls from a worker into its page, on an otherwise idle machine',
    work: 'blocking calls from a worker into its page',
  },
  document: {
    title: 'Atomics Throughput Benchmark (Chrome 113, M1 MacBook Pro)',
    source: 'https://github.com/search?type=code&q=port_sab__custom',
  },
  subjects,
  cells: [headlineCell, ...cells.map(({ cell }) => cell)],
  rows: [
    ...cells.flatMap((of) =>
      throughputs.flatMap((throughput) =>
        conditions.map((condition) => throughputRow(of, throughput, condition)),
      ),
    ),
    ...conditions.map(frameRow),
    ...cells.map(idleRow),
    ...cells.flatMap(callRows),
    ...cells.flatMap(payloadRows),
  ],
  tools: ['cbor-x', 'playwright-core'],
  get otherVersions() {
    const version = chromiumVersion();
    return version === undefined ? {} : { chromium: version };
  },
  async prepare(report) {
    if (findChromium() === undefined) return undefined;
    report('bundling the pages');
    await Promise.all(chromiumCell.subjects.map(bundlePage));
    return undefined;
  },
};

export default table;
