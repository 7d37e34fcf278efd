/**
 * The table `offload`: the published benchmark of password hashing in a web server, and what it leaves out: the
 * latency of other requests meanwhile, other programs on the machine, the overhead of a task, tasks that take time,
 * payloads, and the behaviour when a task fails.
 */
import type { Table } from '../../harness/table.js';
import { documentCell, documentRows, wholeDocumentCell } from './cells/document.js';
import { emptyCells, emptyRows } from './cells/empty.js';
import { faultNames, faultsCell } from './cells/faults.js';
import { lightCell, lightRows } from './cells/light-requests.js';
import { longTaskCell, longTaskRows } from './cells/long-task.js';
import { payloadCells, payloadRows } from './cells/payloads.js';
import { workCell, workRows } from './cells/work.js';
import { hashingAlone } from './floors/hashing-alone.js';
import mainThreadAlone from './floors/main-thread-alone.js';
import { threadsAlone } from './floors/threads-alone.js';
import { abVersion } from './server/ab.js';
import { async, native, sync } from './server/hashing.js';
import { politePools, pools } from './subjects/index.js';
import { findTurnsPerMicrosecond } from './workloads/turns.js';

const table: Table = {
  table: 'offload',
  title: 'Work taken off the event loop',
  headline: {
    ours: "Pointsman's pool",
    where:
      'in the published experiment, an Express server that hashes passwords with 20 requests waiting',
    work: 'passwords hashed by a web server',
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
    ...pools.filter(({ role }) => role === 'floor'),
    threadsAlone,
    mainThreadAlone,
    hashingAlone,
  ],
  headlineCells: 2,
  cells: [
    documentCell,
    ...emptyCells,
    wholeDocumentCell,
    lightCell,
    workCell,
    longTaskCell,
    ...payloadCells,
    faultsCell,
  ],
  rows: [...documentRows, ...emptyRows, ...lightRows, ...workRows, ...longTaskRows, ...payloadRows],
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
