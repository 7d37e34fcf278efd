/**
 * The table `runtime`: the published benchmark of two asynchronous runtimes for Rust, and what it leaves out: each
 * runtime's own channels, a worker per core, and the cost of an idle runtime.
 */
import type { Table } from '../../harness/table.js';
import { beyondTheDocument } from './beyond.js';
import { inForm, processorMeasure } from './forms.js';
import { cellVersions, programs } from './programs.js';
import { floors, runtimes } from './subjects.js';
import { tests } from './suites.js';

const headlineTest = 'spawn/threaded_scheduler_spawn_1000';

const measured = [
  ...tests.map((test) => inForm('published', test)),
  ...tests.map((test) => inForm('native', test)),
  ...tests.filter(({ workers }) => workers !== undefined).map((test) => inForm('cores', test)),
  ...beyondTheDocument,
];
const cells = measured.map(({ cell }) => cell);
const rows = measured.flatMap(({ rows }) => rows);

const table: Table = {
  table: 'runtime',
  title: 'An async runtime for Rust',
  headline: {
    ours: "Pointsman's runtime",
    where: 'in spawning and joining 1,000 tasks on two workers',
    work: 'tasks spawned and joined, in Rust, on two workers',
  },
  document: {
    title: "Nio's benchmarks: Nio and Tokio on Windows 11, Ryzen 7 5700 (8 cores, 16 threads)",
    source: 'https://github.com/nurmohammed840/nio/tree/main/benchmarks',
    layout: 'line per test',
  },
  subjects: [...runtimes, ...floors],
  cells: [
    ...cells.filter(({ id }) => id === headlineTest),
    ...cells.filter(({ id }) => id !== headlineTest),
  ],
  rows: [
    ...rows.filter(({ measure }) => measure !== processorMeasure),
    ...rows.filter(({ measure }) => measure === processorMeasure),
  ],
  get otherVersions() {
    return cellVersions();
  },
  programs,
};

export default table;
