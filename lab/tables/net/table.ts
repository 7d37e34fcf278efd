/**
 * The table `net`: input and output on a runtime: throughput, tail latency, processor time and context switches; also
 * at fixed rates of requests, and while a task blocks its worker.
 */
import { startServer } from '../../harness/redis-server.js';
import type { Table } from '../../harness/table.js';
import { cellVersions, programs, redisVersion } from './programs.js';
import { byHand, runtimes } from './subjects.js';
import { headlines, otherWorks, useRedisAt } from './works.js';

const hasRedis = redisVersion() !== undefined;
const measured = [...headlines, ...otherWorks(hasRedis)];

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
  cells: measured.map(({ cell }) => cell),
  rows: measured.flatMap(({ rows }) => rows),
  get otherVersions() {
    return cellVersions();
  },
  programs,
  async prepare(report) {
    if (!hasRedis) return undefined;
    const { address, process } = await startServer(report, 0);
    useRedisAt(`${address.host}:${address.port}`);
    return { processes: [process] };
  },
};

export default table;
