/**
 * The table `bridge`: the published benchmark of calls from a worker into its page, and what it leaves out: other
 * platforms, a busy machine, the processor time and the latency of a call, concurrent calls, and larger answers.
 */

import { type Condition, conditions, conditionWords } from '../../harness/condition.js';
import type { Row, Table } from '../../harness/table.js';
import { averageTime, margin, timedCalls } from './caller/perform.js';
import { bridgeCell, measureName, processorTimeName, whoDo } from './cells/cell.js';
import { chromiumVersion, findChromium, shareBrowser } from './page/browser.js';
import { bundlePage } from './page/bundle.js';
import { type Platform, platforms } from './subject.js';
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

const worstConditions = ['quiet', 'all cores busy'] as const;

const works: Readonly<Record<Platform, readonly Work[]>> = {
  Chromium: ['call', 'awaited', 'async function', 'in flight', 'batch of 8', ...payloadNames],
  Node: ['call', 'awaited', 'in flight', 'batch of 8', ...payloadNames],
  'Node, into a worker': ['call', 'source text'],
};

const cellIds: Readonly<Record<Platform, string>> = {
  Chromium: 'chromium',
  Node: 'node',
  'Node, into a worker': 'into-worker',
};
const latencyOf = (platform: Platform) => `${cellIds[platform]}-latency`;
const watched = 'chromium-watched';

/** Peers that block and are far behind coincident. They are not in the headline, which would have fewer rounds. */
const farBehind = ['sync-message', 'synclink'];

/** The document's figure, from an idle machine, and the same with one core busy. */
const headline = bridgeCell({
  id: 'headline',
  platform: 'Chromium',
  works: ['call'],
  subjects: whoDo('Chromium', 'call').filter(isInHeadline),
  sliceMilliseconds: throughputSlice,
  turns: 4,
});

/** A peer that can only await is not in the headline, unless the document has it. */
function isInHeadline(name: string): boolean {
  const subject = subjectNamed(name);
  if (subject.role === 'floor') return name === lowestFloor;
  if (documentVariants.includes(subject)) return true;
  return subject.doneBy?.awaited === undefined && !farBehind.includes(name);
}

/** The cell with the blocking calls of a platform in a condition. */
function cellOfCalls(platform: Platform, condition: Condition) {
  return platform === 'Chromium' && condition !== 'all cores busy'
    ? headline
    : { id: cellIds[platform], subjects: whoDo(platform, 'call') };
}

interface Throughput {
  readonly work: Work;
  readonly title: string;
  readonly in: readonly Condition[];
  readonly about: string;
}

const call: Throughput = {
  work: 'call',
  title: 'one blocking call',
  in: conditions,
  about:
    'A worker requests the position of a box and waits for the eight numbers, in a loop. A subject that cannot block awaits.',
};

const throughputs: readonly Throughput[] = [
  call,
  {
    work: 'awaited',
    title: 'one awaited call',
    in: worstConditions,
    about: 'The same, awaited, one call at a time.',
  },
  {
    work: 'async function',
    title: 'one blocking call of an async function',
    in: ['quiet'],
    about:
      'A worker blocks for the eight numbers of a function that is `async` in the host, in a loop.',
  },
  {
    work: 'in flight',
    title: '64 calls in flight',
    in: worstConditions,
    about: '64 awaited calls at any time, each followed by the next.',
  },
  {
    work: 'batch of 8',
    title: 'batches of 8',
    in: worstConditions,
    about:
      'Eight blocking calls in one round trip. A subject without batches makes one call after the other.',
  },
  {
    work: 'source text',
    title: '8 kB of text there and back',
    in: conditions,
    about:
      "Node's main thread blocks while an `async` function of its worker returns the source text passed to it, as linters call a formatter.",
  },
];

const callsIntoWorker =
  "Node's main thread blocks for the eight numbers of an `async` function of its worker, in a loop.";

function throughputRow(
  platform: Platform,
  { work, title, about }: Throughput,
  condition: Condition,
): Row {
  const isCall = work === 'call';
  const cell = cellOfCalls(platform, condition);
  const crosses = isCall && platform === 'Node' && condition === 'quiet';
  const words = isCall && platform === 'Node, into a worker' ? callsIntoWorker : about;
  return {
    row: `${platform}, ${title}, ${condition}`,
    cell: isCall ? cell.id : cellIds[platform],
    measure: measureName(condition, work),
    processorTime: processorTimeName(condition, work),
    ...(isCall && condition === 'quiet' ? { needsIdleCores: true } : {}),
    unit: 'calls/s',
    better: 'higher',
    subjects: isCall ? cell.subjects : whoDo(platform, work),
    floor: crosses ? crossingFloor : lowestFloor,
    about: `${words} ${conditionWords[condition]}`,
  };
}

/** A column of the document, with its figures in the order of its variants. */
function documentRow(column: string, figures: readonly number[], changed: Partial<Row>): Row {
  const published = documentVariants.map(({ name }, index) => [name, figures[index] ?? 0] as const);
  return {
    ...throughputRow('Chromium', call, 'quiet'),
    ...{ column, published: Object.fromEntries(published) },
    ...changed,
  };
}

const documentRows: readonly Row[] = [
  documentRow('ops/sec', [24_980, 46_396, 35_492, 35_990, 30_683], {
    about: `${call.about} ${conditionWords.quiet} Pointsman and coincident spin while they wait, which is fast where each of the two threads has a core. The document concludes that Atomics bring 1.5 times the calls (port_sab__custom against port_port__structured), that CBOR costs 1.2 times (__cbor against __custom), and that waitAsync is not faster than a MessagePort (sab_sab against port_sab): the lines show what holds here.`,
  }),
  documentRow('Average Time (ns)', [40_032, 21_553, 28_175, 27_785, 32_590], {
    row: 'Chromium, average time of a blocking call, quiet',
    measure: measureName('quiet', averageTime),
    aside: true,
    unit: 'ns',
    better: 'lower',
    about: 'The same in nanoseconds per call.',
  }),
  documentRow('Margin (±%)', [2.57, 2.71, 2.91, 2.59, 3.77], {
    row: 'Chromium, margin of a blocking call, quiet',
    measure: measureName('quiet', margin),
    aside: true,
    unit: '±%',
    better: 'lower',
    about:
      'The 95 % margin of the average time in one slice. The document times each call, the lab 0.1 ms of calls.',
  }),
  documentRow(`Samples (here in ${throughputSlice} ms)`, [12_490, 23_203, 17_750, 17_999, 15_342], {
    row: 'Chromium, timed blocking calls, quiet',
    measure: measureName('quiet', timedCalls),
    aside: true,
    unit: 'calls',
    about: `The calls timed in one slice, of ${throughputSlice} ms here and of 500 ms in the document.`,
  }),
];

function throughputRows(platform: Platform): Row[] {
  return throughputs
    .filter(({ work }) => works[platform].includes(work))
    .flatMap((of) => of.in.map((condition) => throughputRow(platform, of, condition)))
    .filter(({ row }) => row !== documentRows[0]?.row);
}

function callRows(platform: Platform): Row[] {
  const row = (block: string, condition: Condition) => ({
    row: `${platform}, one call: ${block}, ${condition}`,
    matrix: { title: `One call at a time, ${platform}`, block, column: condition },
    unit: 'µs',
    better: 'lower' as const,
  });
  return [
    ...worstConditions.map((condition) => ({
      ...row('99th percentile, µs', condition),
      cell: latencyOf(platform),
      measure: measureName(condition, 'p99'),
      about: `One call in a hundred takes longer than this. In Chromium the clock moves in steps of 5 µs. ${conditionWords[condition]}`,
    })),
    ...conditions.map((condition) => ({
      ...row('processor time, µs per call', condition),
      cell: cellOfCalls(platform, condition).id,
      measure: processorTimeName(condition, 'call'),
      subjects: cellOfCalls(platform, condition).subjects,
      about: `The processor time of all threads and processes of both sides for one call. ${conditionWords[condition]}`,
    })),
  ];
}

function payloadRows(platform: Platform): Row[] {
  return worstConditions.flatMap((condition) =>
    payloadNames.map((payload) => ({
      ...throughputRow(
        platform,
        {
          work: payload,
          title: payload,
          in: worstConditions,
          about: `One call after the other that returns ${payload}.`,
        },
        condition,
      ),
      matrix: {
        title: `Answers with more in them, ${platform}`,
        block: `calls/s, ${condition}`,
        column: payload,
      },
    })),
  );
}

const watchedRows: readonly Row[] = [
  ...worstConditions.map(
    (condition): Row => ({
      row: `Chromium, frames under calls, ${condition}`,
      cell: watched,
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
    cell: watched,
    measure: measureName('quiet', 'idle'),
    unit: 'ms/s',
    better: 'lower',
    subjects: whoDo('Chromium', 'idle'),
    about:
      'Processor time per second of all processes and threads, without any calls. The floor is the page without a bridge.',
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
    beside: [throughputRow('Chromium', call, 'one core busy').row],
  },
  document: {
    title: 'Atomics Throughput Benchmark (Chrome 113, M1 MacBook Pro)',
    source: 'https://github.com/search?type=code&q=port_sab__custom',
  },
  subjects,
  cells: [
    headline,
    ...platforms.map((platform) =>
      bridgeCell({
        id: cellIds[platform],
        platform,
        works: works[platform],
        sliceMilliseconds: throughputSlice,
      }),
    ),
    ...platforms.map((platform) =>
      bridgeCell({
        id: latencyOf(platform),
        platform,
        works: ['single'],
        sliceMilliseconds: latencySlice,
      }),
    ),
    bridgeCell({
      id: watched,
      platform: 'Chromium',
      works: ['frames', 'idle'],
      sliceMilliseconds: watchedSlice,
    }),
  ],
  rows: [
    ...documentRows,
    ...platforms.flatMap(throughputRows),
    ...watchedRows,
    ...platforms.flatMap(callRows),
    ...payloadRows('Chromium'),
    ...payloadRows('Node'),
  ],
  tools: ['cbor-x', 'playwright-core'],
  get otherVersions() {
    const version = chromiumVersion();
    return version === undefined ? {} : { chromium: version };
  },
  async prepare(report) {
    const program = findChromium();
    if (program === undefined) return undefined;
    report('bundling the pages');
    await Promise.all(whoDo('Chromium', ...works.Chromium, 'idle').map(bundlePage));
    return { processes: [await shareBrowser(program)] };
  },
};

export default table;
