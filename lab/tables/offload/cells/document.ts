/**
 * The document's experiment: `ab -k -c 20 -n 250` on an Express route that hashes a password. A slice is a burst of 20
 * requests, which gives the rate; ab's other lines are those of 250 requests.
 */
import { processorTimeOf } from '../../../harness/sample.js';
import type { MeasuredCell, Row } from '../../../harness/table.js';
import { hashesPerSecond, hashingAlone } from '../floors/hashing-alone.js';
import {
  type ConnectionTime,
  connectionColumns,
  connectionLines,
  type ReportLine,
  reportLines,
  runAb,
} from '../server/ab.js';
import { async, hashBytes, native, sync } from '../server/hashing.js';
import { withServer } from '../server/with-server.js';
import { defaultPools, namesOf } from '../subjects/index.js';
import piscina from '../subjects/piscina.js';
import pointsman from '../subjects/pointsman.js';

const cost = 10;
const concurrency = 20;
const burst = { requests: 20, concurrency, bytes: hashBytes };
const whole = { requests: 250, concurrency, bytes: hashBytes };
const rate = 'Requests per second';

export const documentCell: MeasuredCell = {
  id: 'document',
  // A burst takes half a second. The other pools hash 250 passwords in the next cell.
  subjects: namesOf([sync, async, pointsman, piscina, native, hashingAlone]),
  sliceMilliseconds: 700,
  expectedMilliseconds: 800,
  async measure(name, lab) {
    if (name === hashingAlone.name) {
      hashesPerSecond(cost);
      await lab.serve([{ name: rate, run: async () => ({ [rate]: hashesPerSecond(cost) }) }]);
      return { ok: true, samples: {} };
    }
    return withServer(name, cost, async ({ hashUrl, usedMicroseconds }) => {
      const run = async () => {
        const before = await usedMicroseconds();
        const report = await runAb(hashUrl, burst);
        const used = (await usedMicroseconds()) - before;
        return { [rate]: report[rate], [processorTimeOf(rate)]: used / burst.requests };
      };
      // Warms up every thread.
      await runAb(hashUrl, { ...burst, requests: concurrency / 2, concurrency: concurrency / 2 });
      await lab.serve([{ name: rate, run }]);
      return {};
    });
  },
};

export const wholeDocumentCell: MeasuredCell = {
  id: 'document, 250 requests',
  subjects: namesOf([sync, async, ...defaultPools, native]),
  whole: 'the times are those of 250 requests in a row',
  expectedMilliseconds: 8_000,
  limitMilliseconds: 90_000,
  measure: (name) =>
    withServer(name, cost, async ({ hashUrl }) => {
      const report = await runAb(hashUrl, whole);
      return Object.fromEntries(Object.entries(report).map(([line, value]) => [line, [value]]));
    }),
};

type Pair = readonly [ofSync: number, ofAsync: number];

/** The document's table. */
const published: Readonly<Record<ReportLine, Pair>> = {
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

/** The document's Connection Times: for sync and async, by column. */
const publishedTimes: Readonly<
  Record<(typeof connectionLines)[number], readonly [readonly number[], readonly number[]]>
> = {
  Connect: [
    [0, 0, 1.6, 0, 10],
    [0, 0, 0.5, 0, 3],
  ],
  Processing: [
    [90, 1_783, 414.3, 1_804, 3_655],
    [97, 776, 120.5, 802, 874],
  ],
  Waiting: [
    [90, 1_783, 414.4, 1_804, 3_655],
    [95, 776, 120.6, 802, 874],
  ],
  Total: [
    [90, 1_783, 414.5, 1_804, 3_655],
    [97, 776, 120.3, 802, 874],
  ],
};

const headlineRow: Row = {
  row: 'requests per second',
  column: rate,
  cell: documentCell.id,
  measure: rate,
  processorTime: processorTimeOf(rate),
  unit: reportLines[rate],
  better: 'higher',
  published: bySubject(published[rate]),
  about: `An Express route hashes a password with bcrypt at cost ${cost}; ab keeps ${concurrency} requests waiting. Two cores hash at most twice as much as one.`,
};

export const documentRows: readonly Row[] = [
  ...(Object.keys(published) as ReportLine[]).flatMap((line) => {
    const described = asideRow(line, reportLines[line], published[line]);
    const name = `${line}, ${whole.requests} in a row`;
    return line === rate ? [headlineRow, { ...described, row: name, column: name }] : described;
  }),
  ...connectionLines.flatMap((line) =>
    connectionColumns.map((column, index) => {
      const [ofSync, ofAsync] = publishedTimes[line];
      const pair: Pair = [ofSync[index] ?? Number.NaN, ofAsync[index] ?? Number.NaN];
      return { ...asideRow(`${line}, ${column}`, 'ms', pair), heading: 'Connection Times' };
    }),
  ),
];

function asideRow(line: ReportLine | ConnectionTime, unit: string, figures: Pair): Row {
  return {
    row: line,
    column: line,
    cell: wholeDocumentCell.id,
    measure: line,
    unit,
    better: line === rate || line === 'Transfer rate' ? 'higher' : 'lower',
    aside: true,
    published: bySubject(figures),
    about: `As printed by ab after ${whole.requests} requests.`,
  };
}

function bySubject([ofSync, ofAsync]: Pair): Readonly<Record<string, number>> {
  return { [sync.name]: ofSync, [async.name]: ofAsync };
}
