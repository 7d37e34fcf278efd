/**
 * The table `net`: input and output on a runtime: throughput, tail latency, processor time and context switches; also
 * while a task blocks its worker.
 */
import { startServer } from '../../harness/redis-server.js';
import type { Table } from '../../harness/table.js';
import { cellVersions, programs, redisVersion } from './programs.js';
import { byHand, runtimes } from './subjects.js';
import { churn, echo64, measured, plaintext, useRedisAt, works } from './works.js';

const headlines = [
  measured(echo64, { condition: 'quiet' }),
  measured(echo64, { condition: 'blocked', rate: 1_000 }),
  measured(plaintext, { condition: 'quiet' }),
  measured(churn, { condition: 'quiet' }),
];
const conditions = ['quiet', 'blocked'] as const;
const all = [
  ...conditions.flatMap((condition) => works.map((work) => measured(work, { condition }))),
  ...conditions.flatMap((condition) => [
    measured(echo64, { condition, rate: 1_000 }),
    measured(echo64, { condition, rate: 20_000 }),
    measured(plaintext, { condition, rate: 1_000 }),
  ]),
  ...[echo64, plaintext, churn].map((work) =>
    measured(work, { condition: 'quiet', workers: 'one' }),
  ),
];
const headlineIds = headlines.map(({ cell }) => cell.id);
const cells = [...headlines, ...all.filter(({ cell }) => !headlineIds.includes(cell.id))];

const table: Table = {
  table: 'net',
  title: 'Input and output of a runtime for Rust',
  headline: {
    ours: "Pointsman's input and output",
    where: 'in echoing messages over 64 TCP connections',
    work: 'messages echoed over 64 TCP connections, in Rust',
  },
  subjects: [...runtimes, byHand],
  headlineCells: headlines.length,
  cells: cells.map(({ cell }) => cell),
  rows: cells.flatMap(({ rows }) => rows),
  get otherVersions() {
    return cellVersions();
  },
  programs,
  async prepare(report) {
    if (redisVersion() === undefined) return undefined;
    const { address, process } = await startServer(report, 0);
    useRedisAt(`${address.host}:${address.port}`);
    return { processes: [process] };
  },
};

export default table;
